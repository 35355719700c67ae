"""Guards: what each refuses, what is exempt, and that nothing runs before them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import BucketTransform, IdentityTransform
from pyiceberg.types import LongType, NestedField, StructType

import accelerator
from accelerator.cli.main import main
from accelerator.errors import AcceleratorError, GuardError
from accelerator.iceberg.errors import CatalogError
from accelerator.iceberg.statistics.file_statistics import FileStatistics
from accelerator.session.session import Accelerator
from rewrite.text.first_look import comments

ALL = {
    "guard_cross_joins": True,
    "guard_sorts": True,
    "guard_partitions": True,
    "guard_files_max": 2,
    "guard_rows_max": 25,
}


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`s.t`, of four files of ten rows, partitioned by p; `s.u`, of one file, by nothing."""
    root = tmp_path_factory.mktemp("guarded")
    properties = {"uri": f"sqlite:///{root / 'catalog.db'}", "warehouse": f"file://{root}/"}
    catalog = SqlCatalog("lake", **properties)
    catalog.create_namespace("s")
    schema = Schema(*(NestedField(i, n, LongType()) for i, n in enumerate("pkv", start=1)))
    spec = PartitionSpec(PartitionField(1, 1000, IdentityTransform(), "p"))
    table = catalog.create_table("s.t", schema, partition_spec=spec)
    for p in range(4):
        rows = range(p * 10, p * 10 + 10)
        table.append(pa.table({"p": [p] * 10, "k": list(rows), "v": [1] * 10}))
    catalog.create_table("s.u", schema).append(pa.table({"p": [1], "k": [1], "v": [1]}))
    # In format 1 a field that was given up stays as one that gives NULL.
    first = {"format-version": "1"}
    evolved = catalog.create_table("s.evolved", schema, partition_spec=spec, properties=first)
    with evolved.update_spec() as change:
        change.remove_field("p")
        change.add_field("k", BucketTransform(4))
    fields = StructType(NestedField(3, "z", LongType()))
    dotted = Schema(NestedField(1, "x.y", LongType()), NestedField(2, "r", fields))
    both = (PartitionField(n, 1000 + n, IdentityTransform(), f"f{n}") for n in (1, 3))
    catalog.create_table("s.dotted", dotted, partition_spec=PartitionSpec(*both))
    renamed = catalog.create_table("s.renamed", schema, partition_spec=spec)
    renamed.append(pa.table({"p": [1], "k": [1], "v": [1]}))
    with renamed.update_schema() as update:
        update.rename_column("p", "q")
    catalog.close()
    return root


def _session(warehouse: Path, **settings: Any) -> Accelerator:
    return accelerator.open(warehouse, session_time_zone="UTC", **settings)


@pytest.fixture
def acc(warehouse: Path) -> Iterator[Accelerator]:
    with _session(warehouse, **ALL) as acc:
        yield acc


def _code(acc: Accelerator, sql: str, **arguments: Any) -> str | None:
    try:
        acc.queries.guards.check(sql, **arguments)
    except GuardError as error:
        assert error.hint
        return error.code
    return None


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("SELECT * FROM s.t WHERE p = 1", None),
        ("SELECT * FROM s.t, s.u WHERE t.p = 1", "guard_cross_join"),
        ("SELECT * FROM s.u ORDER BY k", "guard_sort"),
        ("SELECT * FROM s.t WHERE k = 1", "guard_partition"),
        ("SELECT * FROM s.u WHERE k = 1", None),
        ("TABLE s.t", "guard_partition"),
        ("FROM s.t SELECT k", "guard_partition"),
        ("SELECT * FROM s.u UNION SELECT * FROM s.t", "guard_partition"),
        ("WITH t AS (SELECT 1 AS k) SELECT * FROM t", None),
        ("SELECT * FROM s.t WHERE p >= 2", None),
        ("SELECT * FROM s.t WHERE p >= 1", "guard_files"),
        ("SELECT * FROM s.t WHERE p >= 0 AND k >= 20", None),
        ("SELECT * FROM s.t WHERE p >= 0 AND abs(k) >= 20", "guard_files"),
        ("SELECT * FROM s.t x JOIN s.u y ON x.k = y.k WHERE x.p = 2", None),
        ("SELECT * FROM s.t x JOIN s.u y ON x.k = y.k WHERE x.p >= 2", "guard_files"),
        ("SELECT * FROM s.u x LEFT JOIN s.t y ON x.k = y.k WHERE y.p IS NULL", "guard_files"),
        ("SELECT * FROM s.nowhere", None),
        ("SELECT * FROM s.t.files", None),
        ("SELECT * FROM s.t WHERE p = ${x}", "guard_unreadable"),
        ("SELECT * FROM s.t WHERE p == ==", "guard_unreadable"),
        ("VALUES (1), (2)", None),
        ("WITH w AS (SELECT 1 AS k) INSERT INTO s.t SELECT k, k, k FROM w", None),
        ("FROM s.t INSERT INTO s.u SELECT k, k, k", None),
        ("FROM s.t x INSERT OVERWRITE s.u SELECT 1, 1, 1 INSERT INTO s.u SELECT 2, 2, 2", None),
        ("FROM s.t insert SELECT k", "guard_unreadable"),
        ("FROM (SELECT 1 AS insert) JOIN s.t SELECT insert into", "guard_unreadable"),
        ("SELECT * FROM s.t |> LIMIT 3", "guard_unreadable"),
        ("SELECT * FROM IDENTIFIER('s.' || 't') WHERE p = 1", "guard_unreadable"),
        ("SELECT * FROM s.t TIMESTAMP AS OF current_timestamp()", "guard_partition"),
        ("SELECT * FROM s.t TIMESTAMP AS OF now() WHERE p >= 1", "guard_files"),
        ("SELECT * FROM s.t WHERE " + " OR ".join(f"p = {i}" for i in range(3000)), "guard_files"),
    ],
)
def test_what_is_refused(acc: Accelerator, sql: str, code: str | None) -> None:
    assert _code(acc, sql) == code


def test_all_are_off_by_default(warehouse: Path) -> None:
    with _session(warehouse) as acc:
        assert _code(acc, "SELECT * FROM s.t, s.u ORDER BY == ==") is None


def test_limits_of_rows_and_bytes(warehouse: Path) -> None:
    sql = "SELECT * FROM s.t WHERE p > {}"
    with _session(warehouse, guard_rows_max=20) as acc:
        assert (_code(acc, sql.format(1)), _code(acc, sql.format(0))) == (None, "guard_rows")
    with _session(warehouse, guard_bytes_max=1) as acc:
        assert (_code(acc, sql.format(1)), _code(acc, sql.format(9))) == ("guard_bytes", None)


def test_a_spec_that_was_given_up(warehouse: Path) -> None:
    """A column of an old spec is none of the current one."""
    with _session(warehouse, guard_partitions=True) as acc:
        assert _code(acc, "SELECT * FROM s.evolved WHERE p = 1") == "guard_partition"
        assert _code(acc, "SELECT * FROM s.evolved WHERE v = 1 AND k IN (1, 2)") is None


def test_names_of_partition_columns(warehouse: Path) -> None:
    """With dots of their own, of fields, and as the state of the table has them."""
    with _session(warehouse, guard_partitions=True) as acc:
        assert _code(acc, "SELECT * FROM s.dotted WHERE `x.y` = 1 AND r.z = 2") is None
        assert _code(acc, "SELECT * FROM s.dotted WHERE x.y = 1") == "guard_partition"
        state = f"s.renamed VERSION AS OF {_first_snapshot(acc)}"
        assert _code(acc, "SELECT * FROM s.renamed WHERE q = 1") is None
        assert _code(acc, f"SELECT * FROM {state} WHERE p = 1") is None
        assert _code(acc, f"SELECT * FROM {state} WHERE k = 1") == "guard_partition"


def _first_snapshot(acc: Accelerator) -> int:
    table = acc.services.lake.pin().pinned(("s", "renamed"))
    assert table is not None
    return table.metadata.snapshots[0].snapshot_id


def test_a_manifest_that_is_gone_counts_nothing(
    acc: Accelerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where that shows only when a column is asked for."""

    def gone(*_: object) -> None:
        raise CatalogError("a manifest can't be read", hint="")

    monkeypatch.setattr(FileStatistics, "column", gone)
    assert _code(acc, "SELECT * FROM s.t WHERE p >= 0") is None


def test_exemptions(warehouse: Path) -> None:
    refused = "SELECT * FROM s.t"
    both = "SELECT * FROM s.t, s.u"
    exempt = {"guard_exempt_users": "nightly, other", "guard_exempt_comment": "guards: off"}
    with _session(warehouse, **ALL, **exempt) as acc:
        assert _code(acc, refused) == "guard_partition"
        assert _code(acc, refused, user="nightly") is None
        assert _code(acc, refused, user="somebody") == "guard_partition"
        for comment in ("-- guards: off", "/* guards: off */", "/* /* */ guards: off */"):
            assert _code(acc, f"{refused} {comment}\n") is None
        for text in ("WHERE 'guards: off' = ''", "/*+ guards: off */", "`-- guards: off`"):
            assert _code(acc, f"{refused} {text}") is not None
    with _session(warehouse, **ALL, user="other", **exempt) as acc:
        assert _code(acc, refused) is None
        assert _code(acc, refused, user="somebody") == "guard_partition"
    with _session(warehouse, **ALL, guard_exempt_tables=["LAKE.s.t"]) as acc:
        assert _code(acc, f"{refused} ORDER BY k") is None
        assert _code(acc, both) == "guard_cross_join"
        assert _code(acc, f"{refused} x JOIN s.u y ON x.k = y.k") is None
        assert _code(acc, f"{refused}, nowhere.n") == "guard_cross_join"


def test_nothing_runs_before_them(acc: Accelerator) -> None:
    for sql in ("SELECT * FROM s.t", "SELECT /*+ PLAIN */ * FROM s.t", "FROM s.t SELECT *"):
        for run in (acc.query, acc.sql, acc.stream):
            with pytest.raises(GuardError):
                run(sql)
    with pytest.raises(GuardError):
        acc.verify("SELECT count(*) FROM s.t")
    with pytest.raises(GuardError):
        acc.query("VERIFY SELECT count(*) FROM s.t")
    assert not acc.spark_started
    assert "metadata" in acc.explain("SELECT count(*) AS n FROM s.t")


def test_an_answer_past_the_guards(acc: Accelerator) -> None:
    answer = acc.query("SELECT count(*) AS n FROM s.t WHERE p IN (1, 2)")
    assert answer.arrow().to_pylist() == [{"n": 20}]
    assert not acc.spark_started


def test_the_command(warehouse: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACCELERATOR_GUARD_PARTITIONS", "true")
    monkeypatch.setenv("ACCELERATOR_GUARD_EXEMPT_USERS", "a, b")
    sql = ["sql", "--warehouse", str(warehouse), "SELECT count(*) AS n FROM s.t"]
    found = CliRunner().invoke(main, sql)
    assert (found.exit_code, "error [guard_partition]" in found.output) == (1, True)
    monkeypatch.setenv("ACCELERATOR_USER", "b")
    assert CliRunner().invoke(main, sql).exit_code == 0


def test_errors_share_the_root() -> None:
    assert issubclass(GuardError, AcceleratorError)
    assert comments("SELECT 1 -- a\n, '--b' /* c /* d */ */ /*+ e */") == [
        "-- a",
        "/* c /* d */ */",
    ]
