"""Statements between the queries: `tests/accelerator/shows/`, and a small warehouse to show.

python -m tests.support.shows FOLDER       # what is answered without PySpark, as JSON
python -m tests.support.shows --record     # what Spark answers becomes what is expected
"""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import DayTransform, IdentityTransform
from pyiceberg.types import (
    DateType,
    DecimalType,
    DoubleType,
    IntegerType,
    ListType,
    LongType,
    NestedField,
    StringType,
    StructType,
    TimestamptzType,
)

import accelerator
from accelerator.errors import AcceleratorError
from tests.support.pristine import catalog_of

FOLDER = Path(__file__).parents[1] / "accelerator" / "shows"
ANSWERS = FOLDER / "answers.json"
_HOUSE = Path(__file__).parents[2]
_ABSENT = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pyspark", "py4j", "pandas"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
from tests.support.shows import main
main(sys.argv[1:])
"""
_MISSING = "spark_missing"
Answer = dict[str, Any]


@dataclass(frozen=True)
class Form:
    """One entry of the file."""

    form: str
    sql: tuple[str, ...]


def forms() -> list[Form]:
    """All of the file."""
    found = tomllib.loads((FOLDER / "forms.toml").read_text())["form"]
    return [Form(one["form"], tuple(one["sql"])) for one in found]


def recorded() -> list[list[Answer]]:
    """What Spark answered, form by form."""
    found: list[list[Answer]] = json.loads(ANSWERS.read_text())
    return found


def warehouse(folder: Path) -> Path:
    """The namespaces, tables and the view that the file names, in that folder."""
    folder.mkdir(parents=True, exist_ok=True)
    catalog = catalog_of(folder)
    catalog.create_namespace("empty")
    catalog.create_namespace("shop", {"comment": "what is sold"})
    catalog.create_namespace("shop.eu")
    place = StructType(
        NestedField(20, "x y", DoubleType(), required=False, doc="east"),
        NestedField(21, "tags", ListType(22, StringType()), required=True),
    )
    sales = Schema(
        NestedField(1, "id", LongType(), required=True, doc="the key, it's"),
        NestedField(2, "store", IntegerType(), required=False),
        NestedField(3, "amount", DecimalType(10, 2), required=False),
        NestedField(4, "sold", TimestamptzType(), required=False),
        NestedField(5, "day", DateType(), required=False),
        NestedField(6, "at", place, required=False),
    )
    spec = PartitionSpec(
        PartitionField(4, 1000, DayTransform(), "sold_day"),
        PartitionField(2, 1001, IdentityTransform(), "store"),
    )
    told = {"comment": "all 'sales'", "a.b": "1", "api-token": "hidden", "owner": "somebody"}
    catalog.create_table("shop.sales", sales, partition_spec=spec, properties=told)
    stores = pa.table({"id": pa.array([1, 2], pa.int32()), "city": ["x", "y"]})
    catalog.create_table("shop.stores", stores.schema).append(stores)
    nested = pa.schema([("k", pa.int32())])
    catalog.create_table("shop.eu.nested", nested)
    catalog.engine.dispose()
    _add_view(folder)
    return folder


def _add_view(folder: Path) -> None:
    """A view, as Spark's JDBC catalog keeps it: PyIceberg makes none."""
    file = folder / "shop" / "totals" / "metadata" / "00000.metadata.json"
    file.parent.mkdir(parents=True)
    fields = [
        {"id": 0, "name": "store", "required": False, "type": "int", "doc": "which"},
        {"id": 1, "name": "n", "required": True, "type": "long"},
    ]
    sql = "SELECT store, count(*) AS n FROM lake.shop.sales GROUP BY store"
    version = {
        "version-id": 1,
        "timestamp-ms": 1700000000000,
        "schema-id": 0,
        "summary": {"engine-name": "spark"},
        "default-catalog": "lake",
        "default-namespace": ["shop"],
        "representations": [{"type": "sql", "sql": sql, "dialect": "spark"}],
    }
    metadata = {
        "view-uuid": "5f1c1a2e-0f6b-4a35-8a5b-6c3c7a1d2b3c",
        "format-version": 1,
        "location": f"file://{folder}/shop/totals",
        "schemas": [{"type": "struct", "schema-id": 0, "fields": fields}],
        "current-version-id": 1,
        "versions": [version],
        "version-log": [{"timestamp-ms": 1700000000000, "version-id": 1}],
        "properties": {
            "comment": "per store",
            "p": "q",
            "spark.query-column-names": "store,n",
            "create_engine_version": "Spark 4.1.0",
            "engine_version": "Spark 4.1.0",
        },
    }
    file.write_text(json.dumps(metadata))
    with closing(sqlite3.connect(folder / "catalog.db")) as connection, connection:
        columns = [row[1] for row in connection.execute("PRAGMA table_info(iceberg_tables)")]
        if "iceberg_type" not in columns:
            connection.execute("ALTER TABLE iceberg_tables ADD COLUMN iceberg_type VARCHAR(5)")
            connection.execute("UPDATE iceberg_tables SET iceberg_type = 'TABLE'")
        connection.execute(
            "INSERT INTO iceberg_tables (catalog_name, table_namespace, table_name,"
            " metadata_location, iceberg_type) VALUES ('lake', 'shop', 'totals', ?, 'VIEW')",
            (f"file://{file}",),
        )


def told(table: pa.Table, folder: Path) -> Answer:
    """An answer as it's recorded: names, types, rows as texts, without what differs by run."""
    columns = [[one.name, str(one.type), one.nullable] for one in table.schema]
    rows = [
        [None if value is None else _lasting(str(value), folder) for value in values]
        for values in zip(*(column.to_pylist() for column in table.columns), strict=True)
    ]
    return {"columns": columns, "rows": rows}


def _lasting(text: str, folder: Path) -> str:
    found = text.replace(str(folder), "{folder}")
    for snapshot in _snapshots(folder):
        found = found.replace(snapshot, "{snapshot}")
    return found


def _snapshots(folder: Path) -> list[str]:
    files = (folder / "shop" / "stores" / "metadata").glob("*.metadata.json")
    found = (json.loads(one.read_text()).get("current-snapshot-id") for one in files)
    return [str(one) for one in found if one not in (None, -1)]


def asked(
    ask: Callable[[str], pa.Table], folder: Path, raised: tuple[type[Exception], ...]
) -> list[list[Answer]]:
    """What a session answers to all forms, in their order; errors of these types by their class."""
    return [[_asked(ask, sql, folder, raised) for sql in form.sql] for form in forms()]


def _asked(
    ask: Callable[[str], pa.Table], sql: str, folder: Path, raised: tuple[type[Exception], ...]
) -> Answer:
    try:
        return told(ask(sql), folder)
    except raised as error:
        if getattr(error, "code", "") == _MISSING:
            return {"error": _MISSING}
        condition = getattr(error, "error_class", None)
        if condition is None:
            condition = getattr(error, "getCondition", lambda: "")() or ""
        return {"error": condition}


def differences(answers: list[list[Answer]], expected: list[list[Answer]]) -> dict[str, list[str]]:
    """By form, the statements that are answered otherwise than Spark answered."""
    found: dict[str, list[str]] = {}
    for form, ours, sparks in zip(forms(), answers, expected, strict=True):
        pairs = zip(form.sql, ours, sparks, strict=True)
        wrong = [f"{sql}: {one} instead of {two}" for sql, one, two in pairs if differ(one, two)]
        if wrong:
            found[form.form] = wrong
    return found


def differ(ours: Answer, sparks: Answer) -> bool:
    """Whether two answers differ; an error for which Spark has no class may have one here.

    Whether NULLs may stand in a query's answer is compared by others.
    """
    if sparks.get("error") == "":
        return ours.get("error", _MISSING) == _MISSING
    if "error" in sparks or "error" in ours:
        return ours != sparks
    names = [one[:2] for one in ours["columns"]] != [one[:2] for one in sparks["columns"]]
    return names or ours["rows"] != sparks["rows"]


def without_spark(folder: Path) -> list[list[Answer]]:
    """The answers of a process that can't import PySpark, over that warehouse."""
    return _of_process("-c", _ABSENT, str(folder))


def by_spark(folder: Path) -> list[list[Answer]]:
    """The answers of real Spark, in the session that ours would start; a process of its own."""
    return _of_process("-m", "tests.support.shows", "--spark", str(folder))


def _of_process(*words: str) -> list[list[Answer]]:
    search = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH", ""), str(_HOUSE)]))
    done = subprocess.run(
        [sys.executable, *words],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
        env={**os.environ, "PYTHONPATH": search},
    )
    found: list[list[Answer]] = json.loads(done.stdout.splitlines()[-1])
    return found


def _asked_of_spark(folder: Path) -> list[list[Answer]]:
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    with accelerator.open(folder) as session:
        spark, raised = session.spark, (PySparkException, Py4JError)
        return asked(lambda sql: spark.sql(sql).toArrow(), folder, raised)


def main(words: list[str]) -> None:
    """Prints or records."""
    if words == ["--record"]:
        with tempfile.TemporaryDirectory(prefix="shows-") as place:
            found = by_spark(warehouse(Path(place) / "lake"))
        lines = [json.dumps(one, ensure_ascii=False) for form in found for one in form]
        texts = iter(lines)
        parts = ["[\n" + ",\n".join(next(texts) for _ in form) + "\n]" for form in found]
        ANSWERS.write_text("[\n" + ",\n".join(parts) + "\n]\n")
        return
    if words[0] == "--spark":
        print(json.dumps(_asked_of_spark(Path(words[1]))))
        return
    (folder,) = words
    with accelerator.open(folder) as session:
        answers = asked(lambda sql: session.query(sql).arrow(), Path(folder), (AcceleratorError,))
        if session.spark_started:
            raise SystemExit("Spark was started")
    print(json.dumps(answers))


if __name__ == "__main__":
    main(sys.argv[1:])
