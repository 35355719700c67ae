"""A table that a reader refuses whole, beside the readable ones of a world.

Spark makes a readable table. A copy of its metadata gets a column that some reader refuses, and a
name of its own in the catalog. The column is a twin whose name differs in case, a `time`, a
`timestamp_ns` or a `geometry`. A `variant` is Spark's own. If Spark refuses a statement over it,
ours raises as well.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from pyspark.errors import PySparkException

from accelerator.session.session import Accelerator
from fuzz.select import Output, Select

_KINDS = {
    "case": ("BIGINT", {"name": "V"}),
    "time": ("BIGINT", {"type": "time"}),
    "timestamp_ns": ("BIGINT", {"type": "timestamp_ns"}),
    "geometry": ("BINARY", {"type": "geometry(EPSG:3857)"}),
    "variant": ("VARIANT", {}),
}
"""The type by which Spark makes the last column, and the fields that its copy has in place."""
_VALUES = {"BIGINT": "{n}L", "BINARY": "X'0{n}'", "VARIANT": "parse_json('{{\"a\": {n}}}')"}
_TEXTS = (
    "SELECT count(*) AS n FROM {u}",
    "SELECT sum(v) AS s, min(k) AS low FROM {u}",
    "SELECT k, count(*) AS n FROM {u} GROUP BY k",
    "SELECT k, v FROM {u}",
    "SELECT k FROM {u} WHERE v > 2",
    "SELECT k FROM {u} WHERE k = 100",
    "SELECT {c} FROM {u}",
    "SELECT count({c}) AS n FROM {u}",
    "SELECT * FROM {u}",
    "SELECT k FROM {u} ORDER BY k LIMIT 2",
    "SELECT max(k) AS top FROM {u} HAVING count(*) > 1",
    "WITH q AS (SELECT k, v FROM {u}) SELECT max(v) AS top FROM q",
    "SELECT count(*) AS n FROM {f} JOIN {u} ON k > 1",
    "SELECT count(*) AS n FROM {f} WHERE 1 IN (SELECT k FROM {u})",
    "SELECT count(*) AS n FROM {f} UNION ALL SELECT count(*) AS n FROM {u}",
    "SELECT count(*) AS n FROM {u}.snapshots",
    "SELECT count(*) AS n FROM {f}",
    "SELECT count(*) AS n FROM {made}",
)
_REFUSED = (
    "CREATE CUBE {cube} AS SELECT k, sum(v) AS s FROM {u} GROUP BY k",
    "CREATE INDEX {cube}_k ON {u} USING BITMAP (k)",
)
"""Statements of ours over it: an error, and a typed one."""
_GO_ON = ("SHOW CONSTRAINTS", "SHOW RELATE COLUMNS", "SHOW CUBES", "SHOW INDEXES")
"""Listings of all tables: no error."""
GENERATOR = "unreadable"


@dataclass(frozen=True)
class Unreadable:
    """The table's name, that of the readable table it's a copy of, and how it was made."""

    kind: str
    name: str
    readable: str
    script: tuple[str, ...]
    catalog: str

    @property
    def column(self) -> str:
        """The name of the column that a reader refuses."""
        return "V" if self.kind == "case" else "c"

    def statement(self, r: Random, fact: str) -> Select:
        """A query over it, at times beside the fact."""
        text = r.choice(_TEXTS).format(u=self.name, f=fact, c=self.column, made=self.readable)
        return Select((Output("count(*)", "n"),), self.name, wrap=text, generator=GENERATOR)

    def ours(self, r: Random) -> tuple[str, bool]:
        """A statement of ours, and whether it has to be refused."""
        if r.random() < 0.5:
            return r.choice(_GO_ON), False
        return r.choice(_REFUSED).format(u=self.name, cube=self.name.rpartition(".")[2]), True

    def drop(self, acc: Accelerator) -> None:
        """Removes both tables; Spark may be unable to load the one."""
        if self.kind != "variant":
            with closing(sqlite3.connect(self.catalog)) as db, db:
                db.execute(
                    "DELETE FROM iceberg_tables WHERE table_name = ?",
                    (self.name.rpartition(".")[2],),
                )
        acc.spark.sql(f"DROP TABLE IF EXISTS {self.readable} PURGE")


def make_unreadable(acc: Accelerator, r: Random, prefix: str) -> Unreadable | None:
    """Makes one of a random kind; None if this Spark or catalog can't make it."""
    kind = r.choice(tuple(_KINDS))
    type_, changes = _KINDS[kind]
    readable = f"{prefix}readable"
    rows = [(n % 3, n, _VALUES[type_].format(n=n)) for n in range(r.choice((2, 5, 9)))]
    listed = ", ".join(f"({k}, {v}L, {c})" for k, v, c in rows)
    script = (
        f"CREATE TABLE {readable} (k INT, v BIGINT, c {type_}) USING iceberg"
        " TBLPROPERTIES ('format-version'='3')",
        f"INSERT INTO {readable} SELECT * FROM VALUES {listed}",
    )
    uri = next((one.properties.get("uri", "") for one in acc.services.lake.settings), "")
    if not uri.startswith("sqlite:///"):
        return None
    try:
        for text in script:
            acc.spark.sql(text).collect()
    except PySparkException:
        acc.spark.sql(f"DROP TABLE IF EXISTS {readable} PURGE")
        return None
    catalog = uri.removeprefix("sqlite:///")
    if not changes:
        return Unreadable(kind, readable, readable, script, catalog)
    name = f"{prefix}unreadable"
    _copied(catalog, readable, name, changes)
    told = f"-- {name} is {readable}, of which the column c has {json.dumps(changes)}"
    return Unreadable(kind, name, readable, (*script, told), catalog)


def _copied(catalog: str, readable: str, name: str, changes: dict[str, Any]) -> None:
    """Another table in the catalog, over the metadata of the readable one with changed fields."""
    old, new = readable.rpartition(".")[2], name.rpartition(".")[2]
    with closing(sqlite3.connect(catalog)) as db, db:
        columns = [row[1] for row in db.execute("PRAGMA table_info(iceberg_tables)")]
        found = db.execute("SELECT * FROM iceberg_tables WHERE table_name = ?", (old,)).fetchone()
        row = dict(zip(columns, found, strict=True))
        path = Path(row["metadata_location"].removeprefix("file:").replace("///", "/"))
        metadata = json.loads(path.read_text())
        for schema in metadata["schemas"]:
            schema["fields"][-1] |= changes
        # The same uuid for two tables would confuse whoever knows tables by it.
        metadata["table-uuid"] = metadata["table-uuid"][:-4] + "0000"
        changed = path.with_name(f"00099-{new}.metadata.json")
        changed.write_text(json.dumps(metadata))
        row |= {"table_name": new, "metadata_location": changed.as_uri()}
        row["previous_metadata_location"] = None
        marks = ", ".join("?" * len(row))
        db.execute(
            f"INSERT INTO iceberg_tables ({', '.join(row)}) VALUES ({marks})", tuple(row.values())
        )
