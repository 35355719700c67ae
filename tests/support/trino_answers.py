"""What Trino answers to the statements of `tests/rewrite/trino/cases.toml`, and how to record it.

`python -m tests.support.trino_answers http://host:port` asks a Trino with a catalog `memory` and
writes `answers.json` anew: of each statement the answer, or that it raises, beside Spark's text.
"""

from __future__ import annotations

import json
import math
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from rewrite.client import ClientContext
from rewrite.dialects.translate import translated_for

_FOLDER = Path(__file__).parent.parent / "rewrite" / "trino"
CASES = tomllib.loads((_FOLDER / "cases.toml").read_text())
ANSWERS = _FOLDER / "answers.json"
_DIGITS = 1e-12
Columns = Callable[[tuple[str, ...]], Mapping[str, str] | None]
"""Returns the columns of a table with Spark's types."""


@dataclass(frozen=True)
class Case:
    """A statement of Trino's SQL, asked in a session of that zone."""

    sql: str
    zone: str

    @property
    def key(self) -> str:
        """Its name among the answers."""
        return f"{self.zone}: {self.sql}"

    def spark(self) -> str:
        """Spark's text of it, over views with the tables' names."""
        return spark_text(self.sql, columns, self.zone).replace("`c`.`s`.", "")


def spark_text(sql: str, columns_of: Columns, zone: str = "UTC", engine: str | None = None) -> str:
    """Returns Spark's text of a statement of a Trino client in that zone, at the schema `c.s`."""
    client = ClientContext(catalog="c", schema="s", time_zone=zone)
    return translated_for(client, sql, "trino", columns_of, ["c"], engine).text


def columns(parts: tuple[str, ...]) -> Mapping[str, str] | None:
    """A table's columns with Spark's types."""
    table = CASES["tables"].get(parts[-1])
    return None if table is None else {name: types[1] for name, types in table.items()}


def cases() -> Iterator[Case]:
    """All of them."""
    for some in CASES["expressions"]:
        for zone in some.get("zones", ["UTC"]):
            for one in some["of"]:
                yield Case(f"SELECT {one} AS r FROM {some['table']} ORDER BY id", zone)
    for sql in CASES["statements"]["of"]:
        yield Case(sql, "UTC")


def recorded() -> Mapping[str, Any]:
    """The answers by the keys of cases."""
    found: Mapping[str, Any] = json.loads(ANSWERS.read_text())
    return found


def view(table: str, of: int) -> str:
    """A query that gives the table's rows, in Trino's words (0) or Spark's (1)."""
    types = [one[of] for one in CASES["tables"][table].values()]
    rows = []
    for row in CASES["rows"][table]:
        absent = row[0] in CASES["absent"].get(table, [])
        values = []
        for value, type_ in zip(row, types, strict=True):
            text = f"'{value}'" if of == 0 else _sparks(value)
            if value == "" and (absent or type_ not in ("varchar", "string")):
                text = "NULL"
            if value and "zone" in type_:
                text = f"'{value} UTC'"
            if value and type_ == "timestamp":
                text = f"'{value}Z'"
            values.append(f"CAST({text} AS {type_})")
        rows.append(f"({', '.join(values)})")
    names = ", ".join(CASES["tables"][table])
    return f"SELECT * FROM (VALUES {', '.join(rows)}) AS t ({names})"


def _sparks(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def alike(ours: Any, theirs: Any, type_: str) -> bool:
    """Whether a value as the protocol has it is that value of Trino's type."""
    if ours is None or theirs is None:
        return ours is theirs
    if type_.startswith("array("):
        inner = type_.removeprefix("array(").removesuffix(")")
        return len(ours) == len(theirs) and all(
            alike(one, other, inner) for one, other in zip(ours, theirs, strict=True)
        )
    if type_ == "double":
        one, other = float(ours), float(theirs)
        both_nan = math.isnan(one) and math.isnan(other)
        return both_nan or one == other or math.isclose(one, other, rel_tol=_DIGITS)
    if type_.startswith("decimal"):
        return abs(Decimal(ours) - Decimal(theirs)) == 0
    if type_.endswith("with time zone"):
        return bool(_moments(ours) & _moments(theirs))
    if type_.startswith("timestamp"):
        return _clock(ours) == _clock(theirs)
    return bool(ours == theirs)


def _clock(text: str) -> str:
    return text.rstrip("0").removesuffix(".") if "." in text else text


def _moments(text: str) -> set[datetime]:
    """The moments that a text with a zone may mean; two where clocks go back."""
    clock, _, zone = text.rpartition(" ")
    local = datetime.fromisoformat(clock)
    if zone[0] in "+-":
        return {datetime.fromisoformat(f"{clock}{zone}")}
    return {local.replace(tzinfo=ZoneInfo(zone), fold=n).astimezone(UTC) for n in (0, 1)}


def ask(url: str, sql: str, zone: str) -> dict[str, Any]:
    """The types and rows that a Trino answers in a session of that zone, or its error's name."""
    import trino

    at = urlsplit(url)
    connection = trino.dbapi.connect(
        host=at.hostname,
        port=at.port,
        user="recorder",
        catalog="memory",
        schema="default",
        timezone=zone,
        legacy_primitive_types=True,
    )
    cursor = connection.cursor()
    try:
        cursor.execute(sql)
        rows = cursor.fetchall()
    except trino.exceptions.TrinoUserError as error:
        return {"error": error.error_name}
    types = [one.type_code for one in cursor.description or ()]
    return {"types": types, "rows": [[_plain(value) for value in row] for row in rows]}


def record(url: str) -> None:
    """Asks Trino for what isn't recorded yet; without `answers.json` for all."""
    for table in CASES["tables"]:
        ask(url, f"DROP TABLE IF EXISTS {table}", "UTC")
        made = ask(url, f"CREATE TABLE {table} AS {view(table, 0)}", "UTC")
        assert "error" not in made, (table, made)
    known = recorded() if ANSWERS.exists() else {}
    found: dict[str, Any] = {}
    for case in cases():
        answer = known.get(case.key) or ask(url, case.sql, case.zone)
        found[case.key] = {**answer, "spark": case.spark()}
    lines = [
        f"{json.dumps(key)}: {json.dumps(one, ensure_ascii=True)}" for key, one in found.items()
    ]
    ANSWERS.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def _plain(value: Any) -> Any:
    """JSON has no NaN."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return [_plain(one) for one in value] if isinstance(value, list) else value


if __name__ == "__main__":
    record(sys.argv[1])
