"""Small index builds without a Spark session: every kind answers, and what fails leaves nothing."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

import accelerator
from accelerator import Accelerator
from accelerator.builds.sidecars import thread_job
from accelerator.errors import AcceleratorError, BuildError, CancelledError
from accelerator.store import SegmentRecord
from tests.support.pristine import Pristine, catalog_of

_KINDS = {
    "BITMAP": ("k", "k = 5"),
    "BLOOM": ("k", "k = 5"),
    "BOUNDS": ("k", "k = 205"),
    "RANGE": ("k", "k BETWEEN 205 AND 206"),
    "NGRAM_BITMAP": ("s", "s LIKE '%item 205%'"),
    "NGRAM_BLOOM": ("s", "s LIKE '%item 205%'"),
    "TOKEN_BITMAP": ("s", "has_token(s, '205')"),
    "TOKEN_BLOOM": ("s", "has_token(s, '205')"),
}


def _rows(first: int) -> pa.Table:
    """A hundred rows whose keys another file has between its own."""
    keys = [first + 3 * n for n in range(100)]
    return pa.table(
        {
            "k": pa.array(keys, pa.int32()),
            "s": [f"an item {key} of many" for key in keys],
        }
    )


def _fill(catalog: SqlCatalog) -> None:
    catalog.create_namespace("d")
    fact = catalog.create_table("d.f", _rows(0).schema)
    for first in range(3):
        fact.append(_rows(first))


@pytest.fixture
def acc(pristine: Pristine, no_java: None) -> Iterator[Accelerator]:
    with accelerator.open(pristine.lake(_fill)) as session:
        yield session
        assert not session.spark_started


@pytest.mark.parametrize(
    ("settings", "refused"),
    [
        ({"unusual": "spark.sql.groupByAliases"}, {"cube"}),
        ({"ansi": "false"}, {"cube"}),
        ({"branch": "b"}, set()),
        ({"extended": "acme.Masks"}, {"cube", "index"}),
    ],
)
def test_what_a_session_may_compute_otherwise_isnt_built_in_it(
    acc: Accelerator, settings: dict[str, str], refused: set[str]
) -> None:
    for builder in (acc.services.builder, acc.services.index_builder):
        own = dict(builder._settings())
        builder._settings = lambda own=own: own | settings
    statements = {
        "cube": "CREATE CUBE a AS SELECT k, count(*) AS n FROM d.f GROUP BY k",
        "index": "CREATE INDEX i ON d.f USING BITMAP (k)",
    }
    found = set()
    for name, sql in statements.items():
        try:
            acc.query(sql)
        except BuildError as error:
            found.add(name)
            assert "isn't built in this session" in str(error) and error.hint
    assert found == refused


def _artifacts(acc: Accelerator) -> list[Path]:
    root = Path(acc.config.store_root)
    return [one for one in root.rglob("*") if one.suffix in (".puffin", ".bundle")]


def _of(acc: Accelerator, index: str) -> list[SegmentRecord]:
    record = acc.services.store.registry(fresh=True).indexes[index]
    return list(acc.services.store.table(record.table_uuid).of(record.id))


@pytest.mark.parametrize("kind", _KINDS)
def test_each_kind_is_built_and_leaves_files_out(acc: Accelerator, kind: str) -> None:
    column, predicate = _KINDS[kind]
    sql = f"SELECT k, s FROM d.f WHERE {predicate} ORDER BY k"
    before = acc.query(sql).arrow()
    (row,) = acc.query(f"CREATE INDEX i ON d.f USING {kind} ({column})").arrow().to_pylist()
    assert (row["files"], row["rows"], row["files_skipped"]) == (3, 300, 0)
    after = acc.query(sql)
    assert after.arrow().equals(before)
    assert before.num_rows > 0
    if kind != "BOUNDS":  # each file's bounds hold all keys
        assert after.metrics.files_read < 3
    assert not acc.fallbacks


def test_more_files_are_added(acc: Accelerator) -> None:
    acc.query("CREATE INDEX i ON d.f USING BLOOM (k)")
    catalog = catalog_of(Path(acc.config.warehouse))
    catalog.load_table("d.f").append(_rows(1_000))
    catalog.engine.dispose()
    (row,) = acc.query("BUILD INDEX i").arrow().to_pylist()
    assert row["files"] == 1
    (shown,) = acc.query("SHOW INDEXES ON d.f").arrow().to_pylist()
    assert (shown["files_covered"], shown["status"]) == (4, "complete")


def test_a_file_that_is_cut_is_named_and_nothing_is_left(acc: Accelerator) -> None:
    table = acc.services.lake.pin().pinned(("lake", "d", "f"))
    assert table is not None
    victim = Path(table.live_files()[1].path.removeprefix("file://"))
    data = victim.read_bytes()
    victim.write_bytes(data[: len(data) // 2])
    with pytest.raises(BuildError, match="i failed: a data file can't be indexed") as told:
        acc.query("CREATE INDEX i ON d.f USING BITMAP (k) WITH (rows = true)")
    assert "BUILD INDEX i goes on once that is mended" in str(told.value.hint)
    assert not _artifacts(acc)
    victim.write_bytes(data)
    (row,) = acc.query("BUILD INDEX i").arrow().to_pylist()
    assert row["files"] == 3


def test_a_build_is_cancelled_between_rows(
    acc: Accelerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once a file is being read all that runs is told to stop; no thread writes afterwards."""
    real, begun = thread_job.index_files, threading.Event()

    def index_files(*args: Any) -> Any:
        begun.set()
        acc.cancel()
        return real(*args)

    monkeypatch.setattr(thread_job, "index_files", index_files)
    with pytest.raises(CancelledError, match="the build of i was cancelled"):
        acc.query("CREATE INDEX i ON d.f USING BITMAP (k) WITH (rows = true)")
    assert begun.is_set()
    assert not _artifacts(acc)
    assert not [one for one in threading.enumerate() if one.name.startswith("index")]
    monkeypatch.undo()
    assert not _of(acc, "i")


def test_one_that_replaces_another(acc: Accelerator) -> None:
    acc.query("CREATE INDEX i ON d.f USING BLOOM (k)")
    acc.query("CREATE OR REPLACE INDEX i ON d.f USING BITMAP (k)")
    assert acc.query("SELECT count(*) AS n FROM d.f WHERE k = 5").arrow().to_pylist() == [{"n": 1}]
    (shown,) = acc.query("SHOW INDEXES ON d.f").arrow().to_pylist()
    assert (shown["kind"], shown["status"]) == ("BITMAP", "complete")


@pytest.mark.usefixtures("no_java")
def test_the_setting_ends_it(pristine: Pristine) -> None:
    with (
        accelerator.open(pristine.lake(_fill), build_in_process_bytes_max=10) as session,
        pytest.raises(AcceleratorError, match=r"Java|Spark"),
    ):
        session.query("CREATE INDEX i ON d.f USING BLOOM (k)")
