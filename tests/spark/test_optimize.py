"""OPTIMIZE … BY: the same rows in an order, by columns and relate columns, or nothing at all."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from accelerator.errors import (
    AcceleratorError,
    CancelledError,
    ClusteringError,
    RelateColumnError,
    RelateKeyError,
    UnknownColumnError,
    UnknownTableError,
)
from accelerator.query.statements.errors import NotBuiltError
from accelerator.services.clustering import data_files
from accelerator.services.clustering import optimize as clustering_optimize
from accelerator.services.clustering.order import PROPERTY
from accelerator.services.clustering.rewrite import Rewriting
from accelerator.session.session import Accelerator
from tests.support.equality_deletes import write_equality_delete

pytestmark = pytest.mark.spark
LIVE = True

TYPES = {
    "b": "boolean",
    "i": "int",
    "l": "bigint",
    "f": "float",
    "d": "double",
    "n": "decimal(9,2)",
    "w": "decimal(38,10)",
    "day": "date",
    "at": "timestamp",
    "ntz": "timestamp_ntz",
    "s": "string",
    "x": "binary",
    "st": "struct<a int, b string>",
    "ar": "array<int>",
    "m": "map<string, int>",
}
REWRITE_ALL = (
    "CALL lake.system.rewrite_data_files(table => '{table}', options => map('rewrite-all', 'true'))"
)
SORTABLE = [name for name in TYPES if name not in ("st", "ar", "m")]


class Lake:
    """A session with the warehouse that it works on."""

    def __init__(self, warehouse: Any, acc: Accelerator) -> None:
        self.warehouse, self.acc, self.sql = warehouse, acc, warehouse.sql

    def table(self, columns: str, **more: Any) -> str:
        return f"lake.d.{self.warehouse.table(columns, **more)}"

    def rows(self, table: str) -> list[str]:
        """All rows, in an order of their own; maps have none that Spark sorts by."""
        return sorted(map(repr, self.sql(f"SELECT * FROM {table}")))

    def optimize(self, table: str, order: str) -> dict[str, Any]:
        """Does it, and proves that no row has changed."""
        before = self.rows(table)
        done = self.acc.query(f"OPTIMIZE {table} {order}").arrow().to_pylist()[0]
        assert self.rows(table) == before
        return done

    def files(self, table: str) -> set[str]:
        return {row[0] for row in self.sql(f"SELECT file_path FROM {table}.data_files")}

    def in_files(self, table: str, what: str) -> dict[str, list[Any]]:
        """Of each data file the values of an expression, in the order of its rows."""
        rows = self.sql(f"SELECT _file, {what} AS v, _pos FROM {table} ORDER BY _file, _pos")
        by_file = itertools.groupby(rows, key=lambda row: row[0])
        return {file: [row[1] for row in some] for file, some in by_file}


@pytest.fixture
def lake(spark_warehouse: Any, acc: Accelerator) -> Lake:
    return Lake(spark_warehouse, acc)


def in_order(values: list[Any], *, descending: bool = False) -> bool:
    """As Spark sorts: NULLs first, or last where it's descending."""
    keys = [(value is not None, value if value is not None else 0) for value in values]
    return keys == sorted(keys, reverse=descending)


def many_types(lake: Lake, rows: int = 400, **more: Any) -> str:
    table = lake.table(", ".join(f"{name} {kind}" for name, kind in TYPES.items()), **more)
    values = {
        "b": "id % 2 = 0",
        "i": "id * 7919 % 100 - 50",
        "f": "CASE id % 11 WHEN 1 THEN float('NaN') WHEN 2 THEN -0.0f WHEN 3 THEN 0.0f ELSE id END",
        "d": "CASE id % 7 WHEN 1 THEN double('-Infinity') ELSE sin(id) END",
        "w": "id * 1234567890123456789012345.5",
        "day": "date_add(DATE'1969-12-01', CAST(id * 31 % 97 AS int))",
        "at": "timestamp_micros(id * 7919777777 % 1000000007)",
        "ntz": "CAST(timestamp_micros(id * 7919777777 % 1000000007) AS timestamp_ntz)",
        "s": "concat(id * 7919 % 100, 'ä')",
        "x": "unhex(md5(string(id)))",
        "st": "named_struct('a', int(id), 'b', string(id))",
        "ar": "array(int(id), NULL)",
        "m": "map(string(id), int(id))",
    }
    listed = ", ".join(
        f"CAST(IF(id % 13 = {number}, NULL, {values.get(name, 'id')}) AS {kind})"
        for number, (name, kind) in enumerate(TYPES.items())
    )
    lake.sql(f"INSERT INTO {table} SELECT {listed} FROM range(0, {rows}, 1, 3)")
    return table


def test_every_type_sorts_and_stays(lake: Lake) -> None:
    table = many_types(lake)
    for name in SORTABLE:
        done = lake.optimize(table, f"SORT BY ({name})")
        assert (done["files_before"] > 0, done["rows"]) == (True, 400)
        (values,) = lake.in_files(table, name).values()
        if name not in ("f", "d"):  # Python has no order with NaN
            assert in_order(values), name
    for name in ("st", "ar", "m"):
        with pytest.raises(ClusteringError, match="can't be ordered by"):
            lake.acc.query(f"OPTIMIZE {table} SORT BY ({name})")


def test_order_within_files_and_across(lake: Lake) -> None:
    table = lake.table("id bigint, g int, s string")
    lake.sql(
        f"INSERT INTO {table} SELECT id, IF(id % 10 = 0, NULL, int(id * 7919 % 23)),"
        " sha2(string(id), 512) FROM range(0, 20000, 1, 4)"
    )
    done = lake.optimize(table, "SORT BY (g DESC, id) WITH (target_file_size_mb = 0.2)")
    assert done["files_before"] == 4 and 6 <= done["files_after"] <= 24
    assert done["files_after"] == len(lake.files(table)) and done["rows"] == 20000
    files = list(lake.in_files(table, "named_struct('g', g, 'id', id)").values())
    for rows in files:
        assert in_order([row["g"] for row in rows], descending=True)
        for _, same in itertools.groupby(rows, key=lambda row: row["g"]):
            assert in_order([row["id"] for row in same])
    # Two files share the value at which one part ends at most.
    ranges = sorted((min(g), max(g)) for rows in files if (g := [r["g"] or -1 for r in rows]))
    assert all(before[1] <= after[0] for before, after in itertools.pairwise(ranges))


@pytest.mark.parametrize("curve", ["ZORDER", "HILBERT"])
def test_a_curve_serves_each_column(lake: Lake, curve: str) -> None:
    table = lake.table("a int, b string, c bigint, filler string")
    lake.sql(
        f"INSERT INTO {table} SELECT int(id % 64), concat('b', id * 7919 % 4096 DIV 64), id * id,"
        " sha2(string(id), 512) FROM range(0, 8192, 1, 4)"
    )
    done = lake.optimize(table, f"{curve} BY (a, b) WITH (target_file_size_mb = 0.04)")
    assert done["files_after"] >= 12
    for column in ("a", "b"):
        met = lake.sql(f"SELECT count(DISTINCT _file, {column}) FROM {table}")[0][0]
        values = lake.sql(f"SELECT count(DISTINCT {column}) FROM {table}")[0][0]
        # Sorted by the other column first it would be every file.
        assert met / values <= done["files_after"] / 2, column
    again = lake.optimize(table, f"{curve} BY (a, b)")
    assert (again["files_before"], again["snapshot"]) == (0, None)
    other = "HILBERT" if curve == "ZORDER" else "ZORDER"
    assert lake.optimize(table, f"{other} BY (a, b)")["rows"] == 8192


def test_curves_through_every_type_and_relate_columns(lake: Lake) -> None:
    table = many_types(lake, 200, clauses="PARTITIONED BY (b)")
    assert lake.optimize(table, f"HILBERT BY ({', '.join(SORTABLE[:6])})")["rows"] == 200
    assert lake.optimize(table, f"ZORDER BY ({', '.join(SORTABLE[6:])})")["rows"] == 200
    fact, dimension = star(lake)
    assert lake.optimize(fact, "HILBERT BY (name, size, id)")["rows"] == 1000
    told = json.loads(dict(map(tuple, lake.sql(f"SHOW TBLPROPERTIES {fact}")))[PROPERTY])
    assert (told["order"], len(told["keys"])) == ("hilbert", 3)
    lake.sql(f"DELETE FROM {dimension}")
    assert lake.optimize(fact, "ZORDER BY (name, id)")["rows"] == 1000


def test_row_groups_are_as_large_as_wanted(lake: Lake) -> None:
    from pyarrow.parquet import ParquetFile

    table = lake.table("id bigint, s string", properties="'write.parquet.row-group-size-bytes'='9'")
    lake.sql(f"INSERT INTO {table} SELECT id, sha2(string(id), 512) FROM range(20000)")
    lake.optimize(table, "SORT BY (id) WITH (row_group_mb = 0.5)")
    (path,) = lake.files(table)
    groups = ParquetFile(path.removeprefix("file:")).metadata.num_row_groups
    assert 3 <= groups <= 8
    shown = dict(map(tuple, lake.sql(f"SHOW TBLPROPERTIES {table}")))
    assert shown["write.parquet.row-group-size-bytes"] == "9" and "write.data.path" not in shown


def star(lake: Lake, **more: Any) -> tuple[str, str]:
    """A fact whose keys are NULL or dangle, too, and its dimension, both related."""
    fact = lake.table("id bigint, k int, s string", **more)
    dimension = lake.table("k int, name string, size int")
    lake.sql(
        f"INSERT INTO {fact} SELECT id, IF(id % 17 = 0, NULL, int(id * 7919 % 12)), string(id)"
        " FROM range(0, 1000, 1, 3)"
    )
    lake.sql(
        f"INSERT INTO {dimension} SELECT int(id), IF(id = 4, NULL, concat('n', 9 - id)),"
        " int(id % 3) FROM range(10)"
    )
    for name in ("name", "size"):
        lake.acc.query(
            f"ALTER TABLE {fact} ADD RELATE COLUMN {name} FROM {dimension}.{name}"
            f" ON {fact}.k = {dimension}.k"
        )
    return fact, dimension


@pytest.mark.parametrize("version", [2, 3])
def test_relate_columns_order_and_are_not_stored(lake: Lake, version: int) -> None:
    fact, dimension = star(lake, version=version)
    lake.sql(f"DELETE FROM {fact} WHERE id % 19 = 0")
    done = lake.optimize(fact, "SORT BY (size, name DESC, id)")
    (path,) = lake.files(fact)
    rows = lake.sql(
        f"SELECT d.size, d.name, f.id FROM {fact} f LEFT JOIN {dimension} d ON f.k = d.k"
    )
    place = {row["id"]: (row["size"], row["name"]) for row in rows}
    from pyarrow.parquet import read_table

    stored = read_table(path.removeprefix("file:"))
    assert {"size", "name"}.isdisjoint(stored.column_names)
    found = [place[one] for one in stored.column("id").to_pylist()]
    assert len(found) == done["rows"] == len(rows)
    assert in_order([size for size, _ in found])
    for _, same in itertools.groupby(found, key=lambda one: one[0]):
        assert in_order([name for _, name in same], descending=True)


def test_indexes_on_relate_columns_answer_alike_and_leave_more_out(lake: Lake) -> None:
    fact, dimension = star(lake)
    index = f"ix_{fact.rsplit('.', 1)[-1]}"
    lake.acc.query(f"CREATE INDEX {index} ON {fact} USING BITMAP (name)")
    query = (
        f"SELECT count(*) AS n, sum(f.id) AS s FROM {fact} f JOIN {dimension} d ON f.k = d.k"
        " WHERE d.name = 'n7'"
    )
    plain = lake.acc.services.plain_table(query).to_pylist()
    assert lake.acc.query(query).arrow().to_pylist() == plain
    lake.optimize(fact, "SORT BY (name) WITH (target_file_size_mb = 0.001)")
    assert lake.acc.query(query).arrow().to_pylist() == plain
    lake.acc.query(f"BUILD INDEX {index}")
    answer = lake.acc.query(query)
    assert answer.arrow().to_pylist() == plain
    assert answer.metrics.indexes == (index,)
    assert answer.metrics.files_read < answer.metrics.files_total / 2


@pytest.mark.parametrize("version", [2, 3])
def test_deleted_rows_stay_deleted(lake: Lake, version: int) -> None:
    table = lake.table("id bigint, g int", version=version)
    lake.sql(f"INSERT INTO {table} SELECT id, int(id % 5) FROM range(0, 500, 1, 2)")
    lake.sql(f"DELETE FROM {table} WHERE id % 3 = 0")
    lake.sql(f"UPDATE {table} SET g = 9 WHERE id % 7 = 0")
    done = lake.optimize(table, "SORT BY (g)")
    assert done["rows"] == lake.sql(f"SELECT count(*) FROM {table}")[0][0]
    assert len(lake.files(table)) == 1
    assert not lake.warehouse.pinned(table.rsplit(".", 1)[-1]).live_files()[0].deletes
    assert lake.acc.query(f"SELECT count(*) AS n FROM {table}").arrow().to_pylist() == [
        {"n": done["rows"]}
    ]


def test_row_ids_are_kept(lake: Lake) -> None:
    table = lake.table("id bigint, g int", version=3)
    lake.sql(f"INSERT INTO {table} SELECT id, int(id * 7919 % 50) FROM range(0, 500, 1, 2)")
    lake.sql(f"UPDATE {table} SET g = 99 WHERE id % 20 = 0")
    lineage = f"SELECT id, g, _row_id, _last_updated_sequence_number FROM {table} ORDER BY id"
    before = lake.sql(lineage)
    assert len({row["_last_updated_sequence_number"] for row in before}) == 2
    lake.optimize(table, "SORT BY (g DESC)")
    assert lake.sql(lineage) == before


def test_equality_deletes_before_and_after(lake: Lake) -> None:
    name = lake.warehouse.table("k int, s string")
    table = f"lake.d.{name}"
    lake.sql(f"INSERT INTO {table} SELECT int(id), string(id) FROM range(0, 30, 1, 2)")
    write_equality_delete(lake.warehouse, name, [3, 4])
    old = lake.warehouse.pinned(name)
    done = lake.optimize(table, "SORT BY (k DESC)")
    assert done["rows"] == 28
    # As old as what it was made of: what a writer deletes from that state on still applies.
    (file,) = lake.warehouse.pinned(name).live_files()
    assert file.sequence_number == old.snapshot.sequence_number
    write_equality_delete(lake.warehouse, name, [5])
    assert lake.sql(f"SELECT count(*) FROM {table}")[0][0] == 27


@pytest.mark.long
@pytest.mark.parametrize(
    "clauses",
    [
        "PARTITIONED BY (i)",
        "PARTITIONED BY (bucket(4, l), truncate(1, s))",
        "PARTITIONED BY (days(at), b)",
        "PARTITIONED BY (months(ntz))",
        "PARTITIONED BY (years(day), st.a)",
        "PARTITIONED BY (hours(at))",
        "PARTITIONED BY (f)",
    ],
)
def test_partitioned_tables(lake: Lake, clauses: str) -> None:
    table = many_types(lake, 60, clauses=clauses)
    done = lake.optimize(table, "SORT BY (n DESC, i)")
    assert done["rows"] == 60
    partitions = lake.sql(f"SELECT count(DISTINCT partition) FROM {table}.data_files")[0][0]
    assert done["files_after"] <= partitions + 2
    for values in lake.in_files(table, "n").values():
        assert in_order(values, descending=True)
    assert lake.optimize(table, "SORT BY (n DESC, i)")["files_before"] == 0


def test_changed_schemas_and_specs(lake: Lake) -> None:
    table = lake.table("id int, gone string, g int")
    lake.sql(f"INSERT INTO {table} VALUES (1, 'a', 5), (2, 'b', 4)")
    lake.sql(f"ALTER TABLE {table} ADD COLUMN later string")
    lake.sql(f"ALTER TABLE {table} DROP COLUMN gone")
    lake.sql(f"ALTER TABLE {table} ALTER COLUMN id TYPE bigint")
    lake.sql(f"ALTER TABLE {table} RENAME COLUMN g TO order_g")
    lake.sql(f"INSERT INTO {table} VALUES (3000000000, 3, 'x')")
    lake.sql(f"ALTER TABLE {table} ADD PARTITION FIELD bucket(2, id)")
    lake.sql(f"INSERT INTO {table} VALUES (4, 2, NULL)")
    done = lake.optimize(table, "SORT BY (later, order_g)")
    assert (done["files_after"], done["rows"]) == (2, 4)
    specs = lake.sql(f"SELECT DISTINCT spec_id FROM {table}.data_files")
    assert [row[0] for row in specs] == [1]
    # Other names for the same columns: nothing is to be done.
    lake.sql(f"ALTER TABLE {table} RENAME COLUMN later TO late")
    assert lake.optimize(table, "SORT BY (late, order_g)")["files_before"] == 0


def test_a_table_of_format_1(lake: Lake) -> None:
    table = lake.table("id bigint, g int", version=1)
    lake.sql(f"INSERT INTO {table} SELECT id, int(id * 7919 % 50) FROM range(0, 500, 1, 2)")
    assert lake.optimize(table, "SORT BY (g)")["rows"] == 500
    assert lake.optimize(table, "SORT BY (g)")["rows"] == 0


def test_only_what_is_new_is_rewritten(lake: Lake) -> None:
    table = lake.table("id bigint, g int")
    insert = f"INSERT INTO {table} SELECT id, int(id * 7919 % 50) FROM range(0, 500, 1, 2)"
    lake.sql(insert)
    assert lake.optimize(table, "SORT BY (g)")["files_before"] == 2
    first = lake.files(table)
    snapshots = f"SELECT count(*) FROM {table}.snapshots"
    made = lake.sql(snapshots)[0][0]
    nothing = lake.optimize(table, "SORT BY (g)")
    assert nothing == dict.fromkeys(nothing, 0) | {"snapshot": None}
    assert lake.sql(snapshots)[0][0] == made
    lake.sql(insert)
    done = lake.optimize(table, "SORT BY (g)")
    assert (done["files_before"], done["rows"]) == (2, 500)
    assert first < lake.files(table)
    assert lake.optimize(table, "SORT BY (g DESC)")["rows"] == 1000
    assert lake.optimize(table, "SORT BY (g DESC) WITH (full = true)")["rows"] == 1000
    lake.sql(REWRITE_ALL.format(table=table))
    assert lake.optimize(table, "SORT BY (g DESC)")["rows"] == 1000


def test_what_is_remembered(lake: Lake) -> None:
    fact, _ = star(lake)
    done = lake.optimize(fact, "SORT BY (name DESC, id)")
    shown = dict(map(tuple, lake.sql(f"SHOW TBLPROPERTIES {fact}")))
    told = json.loads(shown[PROPERTY])
    assert (told["version"], told["order"]) == (1, "sort")
    assert [(key["name"], key["descending"]) for key in told["keys"]] == [
        ("name", True),
        ("id", False),
    ]
    assert told["keys"][0]["id"] < 0 < told["keys"][1]["id"]
    summary = lake.sql(
        f"SELECT operation, summary['accelerator.clustering'] FROM {fact}.snapshots"
        f" WHERE snapshot_id = {done['snapshot']}"
    )
    assert [tuple(row) for row in summary] == [("replace", told["id"])]


@pytest.mark.parametrize("curve", ["ZORDER", "HILBERT"])
def test_later_rows_lie_on_the_curve_of_earlier_ones(lake: Lake, curve: str) -> None:
    """Rows of a narrow range of `a` are divided by `b` alone, as among the earlier ones."""
    table = lake.table("a int, b int, s string")
    order = f"{curve} BY (a, b) WITH (target_file_size_mb = 0.01"

    def insert(a: str) -> None:
        lake.sql(
            f"INSERT INTO {table} SELECT {a}, int(id % 100), sha2(string(id), 256)"
            " FROM range(0, 1600, 1, 1)"
        )

    def bounds() -> Any:
        shown = dict(map(tuple, lake.sql(f"SHOW TBLPROPERTIES {table}")))
        return json.loads(shown[PROPERTY])["bounds"]

    def spans(files: set[str]) -> list[int]:
        """Of `b` in these files."""
        told = lake.sql(
            f"SELECT max(b) - min(b) FROM {table} WHERE _file IN"
            f" ({', '.join(repr(one) for one in files)}) GROUP BY _file"
        )
        return [row[0] for row in told]

    insert("int(id % 97)")
    lake.optimize(table, f"{order})")
    first, files = bounds(), lake.files(table)
    insert("int(2 + id % 7)")
    lake.optimize(table, f"{order})")
    later = lake.files(table) - files
    assert bounds() == first
    assert len(later) > 3
    assert max(spans(later)) <= 200 / len(later) + 5
    lake.optimize(table, f"{order}, full = true)")
    assert bounds() != first
    lake.optimize(table, "SORT BY (a)")
    insert("5")
    lake.optimize(table, f"{order})")  # of this order there is no file any more
    assert bounds() != first


def between(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Something happens after the rows were read and before the commit."""
    commit = Rewriting.commit

    def first(self: Rewriting, *args: Any) -> int:
        act()
        return commit(self, *args)

    monkeypatch.setattr(Rewriting, "commit", first)


def no_files_left(table: str, lake: Lake) -> bool:
    folder = Path(lake.warehouse.root / "d" / table.rsplit(".", 1)[-1] / "data")
    held = {Path(path.removeprefix("file:")) for path in lake.files(table)}
    return not set(folder.rglob("accelerator-clustered/**/*.parquet")) - held


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize(
    "change",
    ["DELETE FROM {t} WHERE id = 7", "UPDATE {t} SET g = 1 WHERE id = 7", "DELETE FROM {t}"],
)
def test_a_row_that_changes_meanwhile(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, change: str, version: int
) -> None:
    table = lake.table("id bigint, g int", version=version)
    lake.sql(f"INSERT INTO {table} SELECT id, int(id % 5) FROM range(0, 100, 1, 2)")
    between(monkeypatch, lambda: lake.sql(change.format(t=table)))
    with pytest.raises(ClusteringError, match="was changed while"):
        lake.acc.query(f"OPTIMIZE {table} SORT BY (g)")
    left = lake.sql(f"SELECT count(*), count_if(g = 1 AND id = 7) FROM {table}")[0]
    wanted = {"D": (99, 0), "U": (100, 1)}[change[0]] if "WHERE" in change else (0, 0)
    assert tuple(left) == wanted
    assert no_files_left(table, lake)
    monkeypatch.undo()
    lake.optimize(table, "SORT BY (g)")


def test_rows_that_are_appended_meanwhile(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    table = lake.table("id bigint, g int")
    lake.sql(f"INSERT INTO {table} SELECT id, int(id % 5) FROM range(0, 100, 1, 2)")
    between(monkeypatch, lambda: lake.sql(f"INSERT INTO {table} VALUES (1000, 1), (1001, 2)"))
    done = lake.acc.query(f"OPTIMIZE {table} SORT BY (g)").arrow().to_pylist()[0]
    assert done["rows"] == 100
    assert tuple(lake.sql(f"SELECT count(*), max(id) FROM {table}")[0]) == (102, 1001)
    monkeypatch.undo()
    assert lake.optimize(table, "SORT BY (g)")["rows"] == 2


def test_another_rewrite_meanwhile(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    table = lake.table("id bigint, g int")
    lake.sql(f"INSERT INTO {table} SELECT id, int(id % 5) FROM range(0, 100, 1, 2)")
    between(monkeypatch, lambda: lake.sql(REWRITE_ALL.format(table=table)))
    with pytest.raises(ClusteringError, match="was changed while"):
        lake.acc.query(f"OPTIMIZE {table} SORT BY (g)")
    assert lake.sql(f"SELECT count(*) FROM {table}")[0][0] == 100
    assert no_files_left(table, lake)


def test_a_table_made_anew_meanwhile(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    table = lake.table("id bigint, g int")
    lake.sql(f"INSERT INTO {table} SELECT id, int(id % 5) FROM range(100)")

    def anew() -> None:
        lake.sql(f"DROP TABLE {table}")
        lake.sql(f"CREATE TABLE {table} (id bigint, g int) USING iceberg")

    between(monkeypatch, anew)
    with pytest.raises(ClusteringError, match="made anew"):
        lake.acc.query(f"OPTIMIZE {table} SORT BY (g)")
    assert lake.rows(table) == []
    assert no_files_left(table, lake)


def test_what_fails_leaves_nothing(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    table = lake.table("id bigint, g int")
    lake.sql(f"INSERT INTO {table} SELECT id, int(id % 5) FROM range(100)")
    before, files = lake.rows(table), lake.files(table)
    jvm = lake.acc.services.engine.jvm
    staged = jvm.singleton("org.apache.iceberg.spark.SparkTableCache").size()

    def fails(*_args: object) -> None:
        raise OSError("no more")

    for broken in ("_check_rows", "rewrite"):
        monkeypatch.setattr(data_files, broken, fails)
        with pytest.raises(OSError, match="no more"):
            lake.acc.query(f"OPTIMIZE {table} SORT BY (g)")
        monkeypatch.undo()
    # Spark itself fails after some tasks have ended.
    real = data_files.rewrite
    bad = "IF(id = 99, raise_error('broken'), 1)"

    def breaks(session: Any, relation: str, layout: Any, lookups: Any) -> None:
        from msgspec.structs import replace

        real(session, relation, replace(layout, partition_by=("id",), parts=20), lookups)
        session.sql(f"SELECT {bad} FROM {relation}").collect()

    monkeypatch.setattr(data_files, "rewrite", breaks)
    with pytest.raises(ClusteringError, match="broken"):
        lake.acc.query(f"OPTIMIZE {table} SORT BY (g)")
    monkeypatch.undo()
    # Fewer rows than there were.
    monkeypatch.setattr(
        data_files, "rewrite", lambda s, r, *_: s.table(r).limit(7).writeTo(r).append()
    )
    with pytest.raises(ClusteringError, match="7 rows were written of 100"):
        lake.acc.query(f"OPTIMIZE {table} SORT BY (g)")
    assert (lake.rows(table), lake.files(table)) == (before, files)
    assert no_files_left(table, lake)
    assert jvm.singleton("org.apache.iceberg.spark.SparkTableCache").size() == staged


class Cancels:
    """Progress by which somebody cancels as soon as a phase begins."""

    def __init__(self, acc: Accelerator, phase: str) -> None:
        self.acc, self.phase, self.told = acc, phase, list[str]()

    def start(self, total: int, what: str) -> None:
        self.told.append(f"{what.split(' ', maxsplit=1)[0]} {total}")
        if what.startswith(self.phase):
            self.acc.cancel()

    def advance(self, n: int = 1) -> None:
        self.told.append(f"+{n}")

    def finish(self) -> None:
        self.told.append("end")


@pytest.mark.parametrize("phase", ["rewriting", "committing", "never"])
def test_progress_and_cancel(lake: Lake, phase: str) -> None:
    from accelerator.query.statements.parse import parse_statement

    table = lake.table("id bigint, g int")
    lake.sql(f"INSERT INTO {table} SELECT id, int(id % 5) FROM range(0, 100, 1, 2)")
    files, progress = lake.files(table), Cancels(lake.acc, phase)
    statement = parse_statement(f"OPTIMIZE {table} SORT BY (g)")
    if phase == "never":
        clustering_optimize.optimize(statement, lake.acc.services, progress)
        assert progress.told == ["rewriting 2", "+2", "committing 1", "+1", "end"]
        return
    with pytest.raises(CancelledError):
        clustering_optimize.optimize(statement, lake.acc.services, progress)
    assert progress.told[-1] == "end"
    assert lake.files(table) == files and no_files_left(table, lake)


@pytest.mark.parametrize(
    ("order", "error", "said"),
    [
        ("SORT BY (nope)", UnknownColumnError, "has no column nope"),
        ("SORT BY (id, ID)", ClusteringError, "twice"),
        ("SORT BY (id) WITH (nope = 1)", ClusteringError, "no option nope"),
        ("SORT BY (id) WITH (full = 1)", ClusteringError, "true or false"),
        ("SORT BY (id) WITH (full = true, full = true)", ClusteringError, "given twice"),
        ("SORT BY (id) WITH (row_group_mb = 0)", ClusteringError, "row_group_mb can't be"),
        ("SORT BY (id) WITH (target_file_size_mb = -1)", ClusteringError, "can't be"),
        ("SORT BY (id) WITH (target_file_size_mb = 'x')", ClusteringError, "can't be"),
        ("HILBERT BY (id, nope)", UnknownColumnError, "has no column nope"),
        ("ZORDER BY (id, g, ID)", ClusteringError, "twice"),
        ("REWRITE", NotBuiltError, "isn't built"),
        ("", NotBuiltError, "isn't built"),
    ],
)
def test_what_is_refused(lake: Lake, order: str, error: type[AcceleratorError], said: str) -> None:
    table = lake.table("id bigint, g int")
    with pytest.raises(error, match=said):
        lake.acc.query(f"OPTIMIZE {table} {order}")


def test_a_curve_leads_through_eight_columns_at_most(lake: Lake) -> None:
    names = [f"c{number}" for number in range(9)]
    table = lake.table(", ".join(f"{name} int" for name in names))
    lake.sql(f"INSERT INTO {table} VALUES ({', '.join('1' for _ in names)})")
    with pytest.raises(ClusteringError, match="up to 8 columns, not 9"):
        lake.acc.query(f"OPTIMIZE {table} HILBERT BY ({', '.join(names)})")
    lake.optimize(table, f"HILBERT BY ({', '.join(names[1:])})")


def test_an_empty_table_and_one_without_rows(lake: Lake) -> None:
    name = lake.warehouse.table("k int, g int")
    table = f"lake.d.{name}"
    assert lake.optimize(table, "SORT BY (g)")["files_before"] == 0
    lake.sql(f"INSERT INTO {table} SELECT int(id), int(id) FROM range(0, 2, 1, 1)")
    write_equality_delete(lake.warehouse, name, [0, 1])
    done = lake.optimize(table, "SORT BY (g)")
    assert (done["files_before"], done["files_after"], done["rows"]) == (1, 0, 0)
    assert done["snapshot"] is not None and lake.files(table) == set()


def test_broken_paths_of_relate_columns(lake: Lake) -> None:
    fact, dimension = star(lake)
    files = lake.files(fact)
    lake.sql(f"INSERT INTO {dimension} VALUES (3, 'twice', 1)")
    with pytest.raises(RelateKeyError, match="isn't unique"):
        lake.acc.query(f"OPTIMIZE {fact} SORT BY (name)")
    lake.sql(f"ALTER TABLE {dimension} DROP COLUMN name")
    with pytest.raises(RelateColumnError, match="no column name any more"):
        lake.acc.query(f"OPTIMIZE {fact} SORT BY (name)")
    lake.sql(f"DROP TABLE {dimension}")
    with pytest.raises(UnknownTableError, match="is gone"):
        lake.acc.query(f"OPTIMIZE {fact} SORT BY (size)")
    assert lake.files(fact) == files


def test_other_places_of_data_files(lake: Lake, tmp_path: Path) -> None:
    for properties in (
        "'write.object-storage.enabled'='true'",
        f"'write.data.path'='file://{tmp_path}/elsewhere/'",
        "'write.format.default'='orc'",
    ):
        table = lake.table("id bigint, g int", properties=properties)
        lake.sql(f"INSERT INTO {table} SELECT id, int(id % 5) FROM range(0, 100, 1, 2)")
        assert lake.optimize(table, "SORT BY (g)")["files_before"] == 2
        assert lake.optimize(table, "SORT BY (g)")["files_before"] == 0
        if "elsewhere" in properties:
            assert all(f"{tmp_path}/elsewhere/" in path for path in lake.files(table))


def test_tables_of_spark_are_left_to_it(lake: Lake) -> None:
    with pytest.raises(Exception, match=r"(?i)syntax|parse"):
        lake.acc.query("OPTIMIZE spark_catalog.default.no_such_table SORT BY (id)")
