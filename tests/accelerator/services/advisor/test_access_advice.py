"""From a log to indexes, relate columns and orders, over small tables and without Java."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.types import StringType

import accelerator
from accelerator import Accelerator
from accelerator.errors import AdviceStaleError, IndexExistsError, IndexNotFoundError
from accelerator.query.statements.nodes import OptimizeTable
from accelerator.services.advisor.apply.apply import apply
from accelerator.store.journals.advice import FOLDER, Recommendation
from accelerator.store.journals.query_log.encoding.encode import encoded
from accelerator.store.journals.query_log.paths import path_of
from accelerator.store.journals.query_log.record import LogRecord
from tests.support.pristine import Pristine, catalog_of

FILES, EACH = 8, 2_000
_DAY_US = 86_400_000_000


def code(i: int) -> str:
    """A text of its own for each row, in no order."""
    return hashlib.blake2b(str(i).encode(), digest_size=8).hexdigest()


def _fill(catalog: SqlCatalog) -> None:
    catalog.create_namespace("d")
    rows = FILES * EACH
    table = pa.table(
        {
            "code": [code(i) for i in range(rows)],
            "at": pa.array([(i * 7919) % rows for i in range(rows)], pa.int64()),
            "shop": pa.array([i // (EACH // 2) for i in range(rows)], pa.int64()),
            "price": pa.array([i % 101 for i in range(rows)], pa.int64()),
            "text": [f"line {i} code={code(i + 1)} done" for i in range(rows)],
        }
    )
    fact = catalog.create_table(
        "d.f", table.schema, properties={"write.target-file-size-bytes": "40000"}
    )
    for file in range(FILES):
        fact.append(table.slice(file * EACH, EACH))
    shops = pa.table(
        {
            "id": pa.array(range(16), pa.int64()),
            "region": [f"r{i * 5 % 16}" for i in range(16)],
            "kind": [f"k{i % 2}" for i in range(16)],
        }
    )
    catalog.create_table("d.shops", shops.schema).append(shops)


@pytest.fixture
def acc(pristine: Pristine, no_java: None) -> Iterator[Accelerator]:
    with accelerator.open(pristine.lake(_fill, "access")) as session:
        yield session
        assert not session.spark_started


def log(acc: Accelerator, *asked: tuple[str, int], days_ago: float = 0.0, **fields) -> None:
    """Each text so often, of ten seconds each, that many days ago."""
    now = int(time.time() * 1_000_000) - int(days_ago * _DAY_US)
    given = {"execution_ms": 10_000.0, "engine": "duckdb", "process": "session", **fields}
    records = [
        LogRecord(id=f"q{number}", started_us=now - number, state="FINISHED", sql=sql, **given)
        for number, sql in enumerate(sql for sql, times in asked for _ in range(times))
    ]
    made = encoded(records, 0)
    name = f"{len(acc.services.store.files.list('log')):032x}"
    path = path_of(made.newest_us, made.oldest_us, name, 1)
    assert acc.services.store.files.create(path, made.data)


def advised(acc: Accelerator, **budget) -> dict[str, list[Recommendation]]:
    """What is advised, by the action."""
    found: dict[str, list[Recommendation]] = {}
    for one in acc.analyze("d.f", **budget).recommendations:
        found.setdefault(one.action, []).append(one)
    return found


def read_share(acc: Accelerator, sql: str) -> float:
    """Which part of the table's bytes a statement reads."""
    left, of = json.loads(acc.explain(sql, format="json"))["funnel"]["bytes"]
    return left / of


def test_a_lookup_gets_a_filter_that_leaves_files_out(acc: Accelerator) -> None:
    sql = f"SELECT code, price FROM d.f WHERE code = '{code(5_000)}'"
    before = acc.query(sql).arrow().to_pylist()
    log(acc, *((sql.replace(code(5_000), code(i)), 1) for i in range(100, 130)))
    found = advised(acc)
    (one,) = found["CREATE INDEX"]
    assert list(found) == ["CREATE INDEX"]
    assert one.ddl.endswith("lake.d.f USING BLOOM (code)") and one.statements == 31
    assert 0.5 < one.gain_share <= 1 and one.samples[0].startswith("SELECT code")
    assert acc.apply(table="d.f") == [one]
    shown = acc.query("SHOW INDEXES ON d.f").arrow().to_pylist()
    assert shown[0]["bytes"] == pytest.approx(one.bytes, rel=0.1)
    assert read_share(acc, sql) < 0.1
    assert acc.query(sql).arrow().to_pylist() == before
    assert acc.query("SHOW RECOMMENDATIONS").arrow().to_pylist()[0]["status"] == "applied"
    with pytest.raises(IndexExistsError):
        acc.apply(one.id)
    assert acc.analyze("d.f").recommendations == ()


def test_kinds_follow_from_what_is_asked_and_what_is_there(acc: Accelerator) -> None:
    texts = "SELECT code FROM d.f WHERE text LIKE '%code={}%'"
    log(acc, *((texts.format(code(i)), 1) for i in range(7, 12)))
    log(acc, *((f"SELECT code FROM d.f WHERE has_token(text, '{code(i)}')", 1) for i in (5, 6)))
    log(acc, *((f"SELECT count(*) FROM d.f WHERE price = {i}", 3) for i in range(40, 45)))
    asked = {one.ddl.split(" USING ")[1] for one in advised(acc).get("CREATE INDEX", ())}
    # Each file has each price: nothing leaves files out for these, so nothing is advised.
    assert asked and all("text" in one for one in asked)
    assert {one.split("_")[0] for one in asked} == {"NGRAM", "TOKEN"}


@pytest.fixture
def spark_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Orders are advised and applied as if there were a Java, though none is started."""
    monkeypatch.setattr("accelerator.query.explain.buildable.is_spark_installed", lambda: True)
    monkeypatch.setattr("accelerator.engines.spark.lazy_engine.check_java", lambda: None)


@pytest.mark.usefixtures("spark_is_installed")
def test_a_range_over_unordered_rows_gets_an_order(acc: Accelerator) -> None:
    sql = "SELECT sum(price) AS s, code FROM d.f WHERE at BETWEEN {} AND {} GROUP BY code"
    log(acc, *((sql.format(i * 500, i * 500 + 300), 2) for i in range(20)))
    found = advised(acc, bytes=1)  # cubes, too, would serve
    (one,) = found["OPTIMIZE"]
    assert one.ddl == "OPTIMIZE lake.d.f SORT BY (at)" and one.bytes == 0
    assert one.gain_share > 0.5 and one.build_s > 0 and one.name == ""
    assert acc.query("APPLY RECOMMENDATIONS FOR d.f").arrow().num_rows == 0  # by its id alone
    (shown,) = acc.query("SHOW RECOMMENDATIONS ON d.f").arrow().to_pylist()
    assert shown["status"] == "open" and shown["name"] is None and "id alone" in shown["reason"]
    # The promise, against the rows as such a rewrite would lay them.
    promised = int(one.reason.split("about ")[1].split("%")[0]) / 100
    _rewrite(acc)
    shares = [read_share(acc, sql.format(i * 500, i * 500 + 300)) for i in range(20)]
    assert sorted(shares)[10] == pytest.approx(promised, rel=0.5)
    assert advised(acc, bytes=1).get("OPTIMIZE") is None  # nothing is left to gain


@pytest.mark.usefixtures("spark_is_installed")
def test_an_order_is_applied_by_its_id(acc: Accelerator) -> None:
    """The statement goes to whoever runs statements; the table tells that it's done."""
    log(acc, *((f"SELECT sum(price) FROM d.f WHERE at < {i}", 2) for i in range(5, 500, 50)))
    (one,) = advised(acc, bytes=1)["OPTIMIZE"]
    asked: list[object] = []

    def execute(statement: object) -> pa.Table:
        asked.append(statement)
        return pa.table({"files_after": [1]})

    assert apply(acc.services, one.id, None, execute) == [one]
    assert asked == [OptimizeTable(("lake", "d", "f"), "sort", (("at", False),))]
    keys = [{"id": 2, "name": "at", "descending": False}]
    kept = json.dumps({"version": 1, "id": one.digest, "order": "sort", "keys": keys})
    catalog = catalog_of(Path(acc.config.warehouse))
    with catalog.load_table("d.f").transaction() as change:
        change.set_properties({"accelerator.clustering": kept})
    catalog.engine.dispose()
    assert [row["status"] for row in recommendations(acc)] == ["applied"]
    assert "OPTIMIZE" not in advised(acc, bytes=1)


def test_two_indexes_may_leave_out_more_together(acc: Accelerator) -> None:
    """Each leaves a quarter of the files, both a sixteenth."""
    sql = "SELECT at FROM d.g WHERE half = {} AND odd = {} AND price >= 0"
    catalog = catalog_of(Path(acc.config.warehouse))
    files, each = 16, 500
    table = pa.table(
        {
            "at": pa.array(range(files * each), pa.int64()),
            "price": pa.array([i % 7 for i in range(files * each)], pa.int64()),
            **{
                name: pa.array(
                    [
                        {0: 0, 1: 10}.get(i % each, 2 + 2 * (i // each // step % 4))
                        for i in range(files * each)
                    ],
                    pa.int64(),
                )
                for name, step in (("half", 4), ("odd", 1))
            },
        }
    )
    made = catalog.create_table("d.g", table.schema)
    for file in range(files):
        made.append(table.slice(file * each, each))
    catalog.engine.dispose()
    log(acc, *((sql.format(2 + 2 * (i % 4), 2 + 2 * (i // 4)), 4) for i in range(16)))
    found = acc.analyze("d.g").recommendations
    assert [one.action for one in found] == ["CREATE INDEX"] * 2
    assert {one.ddl.split("(")[1] for one in found} == {"half)", "odd)"}
    assert all("with the others" in one.reason for one in found)
    assert found[0].gain_ms == found[1].gain_ms and sum(one.gain_share for one in found) > 0.8
    acc.apply(table="d.g")
    left, of = json.loads(acc.explain(sql.format(4, 6), format="json"))["funnel"]["bytes"]
    assert left / of == pytest.approx(1 / 16, rel=0.2)


def _rewrite(acc: Accelerator) -> None:
    catalog = catalog_of(Path(acc.config.warehouse))
    table = catalog.load_table("d.f")
    table.overwrite(table.scan().to_arrow().sort_by("at"))
    catalog.engine.dispose()


def test_a_dimension_s_filter_gets_a_relate_column_with_an_index(acc: Accelerator) -> None:
    sql = "SELECT kind, sum(price * at) AS s FROM d.f JOIN d.shops ON shop = id"
    sql = f"{sql} WHERE region = 'r{{}}' AND at > {{}} GROUP BY kind"
    log(acc, *((sql.format(i, i), 2) for i in range(10)))
    before = acc.query(sql.format(3, 9)).arrow().to_pylist()
    made, index = acc.analyze("d.f", bytes=60_000).recommendations
    assert (made.action, index.action) == ("ADD RELATE COLUMN", "CREATE INDEX")
    assert made.relate == "region" and "ON lake.d.f.shop = lake.d.shops.id" in made.ddl
    assert index.needs == (made.id,) and index.ddl.endswith("(region)") and not made.gain_ms
    assert acc.apply(index.id) == [made, index]  # what it needs comes with it
    found = acc.query(sql.format(3, 9))
    assert found.arrow().to_pylist() == before and read_share(acc, sql.format(3, 9)) < 0.2
    assert {row["status"] for row in recommendations(acc)} == {"applied"}
    assert acc.analyze("d.f", bytes=60_000).recommendations == ()


def recommendations(acc: Accelerator) -> list[dict]:
    return acc.query("SHOW RECOMMENDATIONS").arrow().to_pylist()


def test_what_nobody_uses_is_advised_away(acc: Accelerator) -> None:
    """An index in use stays; a relate column goes when all indexes on it do."""
    sql = f"SELECT count(*) AS n FROM d.f WHERE code = '{code(1)}' AND price >= 0"
    for ddl in (
        "CREATE INDEX used ON d.f USING BLOOM (code)",
        "CREATE INDEX idle ON d.f USING BITMAP (price) DEFERRED",
        "ALTER TABLE d.f ADD RELATE COLUMN FROM d.shops.region ON d.f.shop = d.shops.id",
        "CREATE INDEX on_region ON d.f USING BLOOM (region) DEFERRED",
        "ALTER TABLE d.f ADD RELATE COLUMN FROM d.shops.kind ON d.f.shop = d.shops.id",
    ):
        acc.query(ddl)
    log(acc, (sql, 5), indexes=("used",))
    assert not acc.analyze("d.f").recommendations  # they were made just now
    found = advised(acc, keep_days=0)
    assert list(found) == ["DROP INDEX", "DROP RELATE COLUMN"]
    (index,), (relate,) = found["DROP INDEX"], found["DROP RELATE COLUMN"]
    assert index.ddl == "DROP INDEX idle" and relate.relate == "region"
    assert "on_region" in relate.reason
    acc.query("CREATE INDEX later ON d.f USING BITMAP (region) DEFERRED")
    with pytest.raises(AdviceStaleError):
        acc.apply(relate.id)  # it has another index by now
    acc.query("DROP INDEX later")
    acc.query("DROP INDEX idle")
    with pytest.raises(IndexNotFoundError):
        acc.apply(index.id)
    acc.query("CREATE INDEX idle ON d.f USING BLOOM (at) DEFERRED")
    with pytest.raises(AdviceStaleError, match="another one"):
        acc.apply(index.id)
    assert acc.apply(relate.id) == [relate]
    left = acc.services.store.registry().indexes
    assert sorted(left) == ["idle", "used"]
    shown = acc.query("SHOW RELATE COLUMNS ON d.f").arrow().column("name").to_pylist()
    assert shown == ["kind"]  # nothing tells whether anybody uses that


HARMFUL = {
    "CREATE INDEX": (
        "DROP INDEX other",
        "CREATE OR REPLACE INDEX f_code ON lake.d.f USING BLOOM (code)",
        "CREATE INDEX f_code ON lake.d.shops USING BLOOM (region)",
        "CREATE INDEX f_code ON lake.d.f USING BLOOM (text)",
        "CREATE INDEX f_code ON lake.d.f USING BITMAP (code)",
        "CREATE INDEX f_code ON lake.d.f USING BLOOM (code) WITH (bits_per_value = 4)",
        "DROP TABLE d.f",
    ),
}


def test_a_ddl_that_somebody_changed_is_refused(acc: Accelerator) -> None:
    log(acc, (f"SELECT price FROM d.f WHERE code = '{code(1)}'", 20))
    acc.analyze("d.f")
    files = acc.services.store.files
    (path,) = files.list(FOLDER)
    said = json.loads(files.read(path))
    (one,) = said["recommendations"]
    assert one["ddl"].replace("`", "") == "CREATE INDEX f_code ON lake.d.f USING BLOOM (code)"
    for number, ddl in enumerate(HARMFUL["CREATE INDEX"], 1):
        later = said["made_ms"] + number
        changed = said | {"made_ms": later, "recommendations": [one | {"ddl": ddl}]}
        name = f"{FOLDER}/29990101T00000000000{number}-{number:016x}.json"
        files.create(name, json.dumps(changed).encode())
        with pytest.raises(AdviceStaleError):
            acc.apply(one["id"])
    assert not acc.services.store.registry().indexes


def test_advice_older_than_the_schema_is_refused(acc: Accelerator) -> None:
    log(acc, (f"SELECT price FROM d.f WHERE code = '{code(1)}'", 20))
    (one,) = acc.analyze("d.f").recommendations
    catalog = catalog_of(Path(acc.config.warehouse))
    with catalog.load_table("d.f").update_schema() as change:
        change.rename_column("code", "was_code")
    with pytest.raises(AdviceStaleError, match="schema"):
        acc.apply(one.id)
    with catalog.load_table("d.f").update_schema() as change:
        change.add_column("code", StringType())
    with pytest.raises(AdviceStaleError, match="schema"):
        acc.apply(one.id)  # another column of the same name
    catalog.engine.dispose()


def test_one_table_that_cannot_be_read_costs_no_other_its_advice(acc: Accelerator) -> None:
    acc.query("CREATE INDEX broken ON d.shops USING BLOOM (region)")
    log(acc, (f"SELECT price FROM d.f WHERE code = '{code(1)}'", 20), bytes_read=-1)
    catalog = catalog_of(Path(acc.config.warehouse))
    place = catalog.load_table("d.shops").metadata_location.removeprefix("file://")
    catalog.engine.dispose()
    Path(place).write_bytes(b"{}")
    with accelerator.open(acc.config.warehouse) as fresh:
        found = fresh.analyze()
        assert [one.action for one in found.recommendations] == ["CREATE INDEX"]
        assert any("d.shops can't be read" in note for note in found.notes)
        assert found.total_ms > 0 and len(recommendations(fresh)) == 1


def test_beside_an_index_no_other_one_of_its_column_is_advised_for_little(acc: Accelerator) -> None:
    """A BLOOM leaves one file now and then, where a BITMAP would leave a row group or none."""
    acc.query("CREATE INDEX there ON d.f USING BLOOM (code) WITH (bits_per_value = 6)")
    log(acc, *((f"SELECT price FROM d.f WHERE code = '{code(i)}'", 9) for i in range(40)))
    absent = (f"SELECT price FROM d.f WHERE code = '{code(-i)}'" for i in range(1, 40))
    log(acc, *((sql, 9) for sql in absent))
    assert acc.analyze("d.f").recommendations == ()


def test_what_serves_what_was_asked_is_not_dropped_for_being_new(acc: Accelerator) -> None:
    """Else the next analysis would advise it again, and so on."""
    log(acc, *((f"SELECT price FROM d.f WHERE code = '{code(i)}'", 5) for i in range(20)))
    (one,) = acc.analyze("d.f").recommendations
    assert acc.apply(one.id) == [one]
    assert acc.analyze("d.f", keep_days=0).recommendations == ()


def test_a_name_that_another_table_s_index_has_by_now_is_not_applied(acc: Accelerator) -> None:
    log(acc, *((f"SELECT price FROM d.f WHERE code = '{code(i)}'", 5) for i in range(20)))
    (one,) = acc.analyze("d.f").recommendations
    acc.query(f"CREATE INDEX {one.index} ON d.shops USING BLOOM (region) DEFERRED")
    assert [row["status"] for row in recommendations(acc)] == ["open"]
    with pytest.raises(IndexExistsError, match="ANALYZE finds another name"):
        acc.apply(table="d.f")
    (other,) = acc.analyze("d.f").recommendations
    assert other.index != one.index and acc.apply(table="d.f") == [other]


def test_texts_count_in_a_cube_s_promised_bytes(acc: Accelerator) -> None:
    """Each value stands once, whole, in the cube's dictionary."""
    log(acc, ("SELECT code, sum(price) AS s FROM d.f GROUP BY code", 40))
    (one,) = acc.analyze("d.f").recommendations
    acc.apply(one.id)
    (cube,) = acc.query("SHOW CUBES").arrow().to_pylist()
    assert one.bytes == pytest.approx(cube["bytes"], rel=0.25)
