"""The walk over the Trino door's allow-list: each function by each kind of operand.

`python -m tests.support.trino_walk http://host:port` asks a Trino with a catalog `memory` and
writes `walk.json` anew: of each statement that the door lets through Trino's answer, or the name of
its error, beside Spark's text.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

from rewrite.errors import AcceleratorError
from tests.support.trino_answers import ask, spark_text

ANSWERS = Path(__file__).parent.parent / "rewrite" / "trino" / "walk.json"
KINDS: Mapping[str, tuple[str, str, tuple[str, ...]]] = {
    "whole": ("integer", "int", ("1", "-3", "7", "2147483", "40", "12")),
    "long": ("bigint", "bigint", ("7", "5", "-1", "9007199254740993", "2", "12")),
    "decimal": ("decimal(9,2)", "decimal(9,2)", ("1.50", "-2.67", "7.00", "0.01", "99.99", "12")),
    "double": ("double", "double", ("2.675", "-0.5", "7.0", "1e300", "0.1", "12.0")),
    "real": ("real", "float", ("1.1", "-2.675", "7.0", "16777216", "0.1", "12.0")),
    "string": ("varchar", "string", ("AIR", "é😀b", "7", " x-y ", "2024-01-05", "")),
    "date": (
        *("date", "date"),
        ("2024-01-31", "2024-02-29", "1969-12-31", "2024-12-30", "2021-01-03", "2024-10-27"),
    ),
    "local": (
        *("timestamp(6)", "timestamp_ntz"),
        (
            *("2024-01-31 12:34:56.789123", "2024-03-31 02:30:00", "1969-12-31 23:59:59.999999"),
            *("2024-10-27 02:30:00", "2021-01-03 00:00:00", "2024-02-29 23:00:00"),
        ),
    ),
    "moment": (
        *("timestamp(6) with time zone", "timestamp"),
        (
            *("2024-01-31 12:34:56.789123", "2024-03-31 00:59:59", "1969-12-31 23:59:59.999999"),
            *("2024-10-27 00:30:00", "2021-01-03 23:30:00", "2024-02-29 23:00:00"),
        ),
    ),
    "boolean": ("boolean", "boolean", ("true", "false", "true", "false", "false", "true")),
    "bytes": ("varbinary", "binary", ("41", "00ff", "", "c3a9", "42", "41")),
}
"""Trino's type of the kind, Spark's, and its values; there are two columns of each."""
_BINARY = (
    *("{0} = {1}", "{0} <> {1}", "{0} < {1}", "{0} <= {1}", "{0} > {1}", "{0} >= {1}"),
    *("{0} IS DISTINCT FROM {1}", "{0} BETWEEN {1} AND {1}", "{0} IN ({1})", "{1} NOT IN ({0})"),
    *("nullif({0}, {1})", "{0} AND {1}", "{0} OR {1}", "{0} + {1}", "{0} - {1}", "{0} * {1}"),
    *("{0} / {1}", "{0} % {1}", "coalesce({0}, {1})", "if(id > 2, {0}, {1})"),
    *("CASE WHEN id > 2 THEN {0} ELSE {1} END", "CASE {0} WHEN {1} THEN 1 ELSE 2 END"),
    *("greatest({0}, {1})", "least({0}, {1})", "{0} || {1}", "concat({0}, {1})"),
    *("concat_ws({0}, {1})", "starts_with({0}, {1})", "strpos({0}, {1})"),
    *("replace({0}, 'x', {1})", "power({0}, {1})", "atan2({0}, {1})"),
    *(f"date_diff('{unit}', {{0}}, {{1}})" for unit in ("second", "hour", "day", "week", "month")),
    *("lag({0}, 1, {1}) OVER (ORDER BY id)", "lead({0}, 2, {1}) OVER (ORDER BY id)"),
    "(SELECT {0} UNION ALL SELECT {1} WHERE false)",
    *(f"date_add('{unit}', {{0}} % 100, {{1}})" for unit in ("minute", "day", "week", "year")),
    *(f"{{1}} - INTERVAL '1' {unit} * ({{0}} % 1000)" for unit in ("day", "month")),
    *("{1} - INTERVAL '1' MINUTE * {0}", "{1} + ({0} % 7) * INTERVAL '3' HOUR"),
    "to_milliseconds({0} - {1})",
    "format('%s (%s) 5%%', {0}, {1})",
    "{0} LIKE lower({1})",
)
_TYPES = (
    *("double", "real", "decimal(38,2)", "decimal(12,1)", "bigint", "integer", "smallint"),
    *("varchar", "date", "timestamp", "timestamp(6)", "timestamp(6) with time zone", "boolean"),
)
_UNITS = ("second", "minute", "hour", "day", "week", "month", "quarter", "year")
_PARTS = (*_UNITS, "dow", "doy", "year_of_week")
_UNARY = (
    *("NOT {0}", "-{0}", "abs({0})", "ceil({0})", "ceiling({0})", "floor({0})", "round({0})"),
    *("round({0}, 1)", "sqrt({0})", "cbrt({0})", "exp({0} / 1000)", "ln({0})", "log10({0})"),
    *("log2({0})", "log(2, {0})", "sin({0})", "atan({0})", "degrees({0})", "radians({0})"),
    *("is_nan({0})", "is_finite({0})", "is_infinite({0})", "{0} IS NULL", "{0} IS NOT NULL"),
    *("lower({0})", "upper({0})", "length({0})", "substr({0}, 2)", "substr({0}, 1, 2)"),
    *("{0} LIKE '%7%'", "{0} || 'x'", "concat({0}, 'x')", "trim({0})", "ltrim({0})"),
    *("rtrim({0})", "reverse({0})", "lpad({0}, 4, '*')", "rpad({0}, 4, '*')", "split({0}, '-')"),
    *("split_part({0}, '-', 2)", "regexp_like({0}, '[A-Z]')", "regexp_extract({0}, '[a-z]')"),
    *("regexp_replace({0}, '[a-z]', '*')", "to_utf8({0})", "from_utf8({0})", "to_hex({0})"),
    *("md5({0})", "sha256({0})", "lower(to_hex({0}))", "date_parse({0}, '%Y-%m-%d')"),
    *(f"{{0}} {sign} INTERVAL '1' {unit}" for sign in "+-" for unit in _UNITS if unit[0] != "q"),
    *(f"INTERVAL '2' {unit} + {{0}}" for unit in ("hour", "day", "month")),
    *(f"extract({part} FROM {{0}})" for part in _PARTS),
    *(f"date_trunc('{unit}', {{0}})" for unit in _UNITS),
    *(f"date_add('{unit}', 3, {{0}})" for unit in _UNITS),
    *(f"{part}({{0}})" for part in ("second", "minute", "hour", "day", "month", "quarter", "year")),
    *("week({0})", "day_of_week({0})", "day_of_month({0})", "day_of_year({0})"),
    *("year_of_week({0})", "yow({0})", "dow({0})", "last_day_of_month({0})", "date({0})"),
    *("date_format({0}, '%Y-%m-%d %H:%i:%s')", "format_datetime({0}, 'yyyy-MM-dd HH:mm:ss.SSS')"),
    *("{0} AT TIME ZONE 'UTC'", "hour({0} AT TIME ZONE 'Asia/Tokyo')"),
    *("at_timezone({0}, 'UTC')", "to_unixtime({0})", "from_unixtime({0})"),
    *(f"CAST({{0}} AS {type_})" for type_ in _TYPES),
    *(f"TRY_CAST({{0}} AS {type_})" for type_ in _TYPES),
    *("{0} > 1", "{0} > 1.5", "{0} > 1e0", "{0} = 'x'", "{0} = 7.0", "{0} IN (7, 12)"),
    *("{0} + 1", "{0} * 1.5", "{0} / 2", "{0} / 2.0", "{0} - 1e0", "2 * {0}", "{0} % 2"),
    *("date_add('day', 1 - day({0}), {0})", "date_add('second', second({0}) - 60, {0})"),
    *(
        f"{{0}} - INTERVAL '1' {part} * ({part}({{0}}) % 5)"
        for part in ("second", "minute", "hour")
    ),
    *(f"date_trunc('{unit}', CAST({{0}} AS timestamp))" for unit in ("second", "minute", "day")),
    *(f"{part}(CAST({{0}} AS timestamp))" for part in ("second", "hour", "date")),
    *("CAST({0} AS timestamp(0))", "CAST({0} AS timestamp(3) with time zone)"),
    *(
        "CAST(CAST({0} AS timestamp) AS timestamp(0))",
        "date_trunc('hour', CAST({0} AS timestamp(0)))",
    ),
    *("CAST({0} AS varchar(20))", "CAST({0} AS varchar(3))", "CAST(floor({0}) AS bigint)"),
    *("{0} LIKE '%^%%' ESCAPE '^'", "{0} LIKE '%x#-_ ' ESCAPE '#'", "{0} LIKE '_-^_%' ESCAPE '^'"),
    *(
        "from_unixtime(floor(to_unixtime({0}) / 300) * 300)",
        "from_unixtime(floor(to_unixtime({0})))",
    ),
    "{0} >= from_iso8601_timestamp('2024-01-31T12:34:56.789Z')",
    *("{0} < TIMESTAMP '2024-02-29 23:00:00 UTC'", "{0} IN (TIMESTAMP '2024-02-29 23:00:00')"),
    *("{0} = DATE '2024-01-31'", "{0} < TIMESTAMP '2024-02-01 00:00:00'", "{0} = true"),
    *("coalesce({0}, 0)", "coalesce({0}, 'none')", "coalesce({0}, NULL)", "if({0}, 1, 2)"),
    *("CASE WHEN {0} THEN 1 END", "row_number() OVER (PARTITION BY g ORDER BY {0}, id)"),
    *("first_value({0}) OVER (PARTITION BY g ORDER BY id)", "lag({0}) OVER (ORDER BY id)"),
    *("last_value({0}) OVER (PARTITION BY g ORDER BY id)", "ntile(3) OVER (ORDER BY {0}, id)"),
    *("rank() OVER (ORDER BY {0})", "sum({0}) OVER (ORDER BY id)", "max({0}) OVER ()"),
    "sum({0}) OVER (ORDER BY {0} RANGE BETWEEN 3 PRECEDING AND CURRENT ROW)",
    "count({0}) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING)",
    *("typeof({0})", "typeof({0} || 'x')", "typeof({0} * 2e0)", "typeof(lower({0}))"),
    *(
        "CAST(date_trunc('minute', CAST({0} AS timestamp)) AS varchar)",
        "CAST(CAST({0} AS timestamp(0)) AS varchar(22))",
        "CAST({0} AT TIME ZONE 'Asia/Kathmandu' AS varchar(48))",
        "CAST({0} AS varchar(28))",
        "CAST({0} AS varchar(29))",
        "CAST({0} AS varchar(33))",
        "CAST(date_format({0}, '%Y-%m-%d') AS timestamp)",
        "CAST(date_format({0}, '%Y-%m-%d %H:%i:%s') AS timestamp)",
        "'AIR-x' LIKE {0} || '%'",
        "timezone_hour({0})",
        "timezone_minute({0} AT TIME ZONE 'Asia/Kathmandu')",
        "date_add('hour', timezone_hour({0} AT TIME ZONE 'Europe/Berlin'), {0})",
        "with_timezone({0}, 'UTC')",
        "to_unixtime(with_timezone({0}, 'Europe/Berlin'))",
        "CAST(at_timezone(with_timezone({0}, 'UTC'), 'Asia/Tokyo') AS timestamp)",
    ),
    *("typeof(coalesce({0}, NULL))", "typeof(TRY_CAST({0} AS varchar(5)))"),
)
_AGGREGATES = (
    *("count({0})", "count(DISTINCT {0})", "sum({0})", "sum(DISTINCT {0})", "avg({0})"),
    *("min({0})", "max({0})", "count_if({0})", "bool_and({0})", "bool_or({0})"),
    *("stddev({0})", "stddev_pop({0})", "variance({0})", "var_pop({0})", "approx_distinct({0})"),
    *("approx_distinct({0}, 0.01)", "approx_percentile({0}, 1.0)", "arbitrary(g)"),
    *("covar_pop({0}, {0})", "max_by(id, {0})", "min_by({0}, id)", "array_agg({0} ORDER BY id)"),
    *("cardinality(array_agg({0}))", "array_join(array_agg({0} ORDER BY id), ',')"),
    *("listagg({0}, ',') WITHIN GROUP (ORDER BY {0})", "sum(id) FILTER (WHERE {0})"),
    *("element_at(array_agg({0} ORDER BY id), 1)", "array_agg({0} ORDER BY id)[1]"),
    *("hour(element_at(array_agg({0} ORDER BY id), 1))", "count({0}, id)"),
    *("array_sort(array_agg({0}))", "element_at(array_sort(array_agg(DISTINCT {0})), 1)"),
    "array_join(array_sort(array_agg(DISTINCT {0})), ', ')",
    *("round(100.0 * count(if({0} > 1, 1)) / count(*), 1)", "round(sum(if(id > 2, {0})), 1)"),
)
ROWS = 7
"""The last one is of NULLs."""


@dataclass(frozen=True, slots=True)
class Step:
    """A call of the walk: its template, the kinds of its operands, the zone of the session."""

    template: str
    kinds: tuple[str, ...]
    zone: str = "UTC"

    @property
    def key(self) -> str:
        """Its name among the answers."""
        return f"{self.zone}: {self.call(*self.columns())}"

    def columns(self) -> tuple[str, ...]:
        """The table's columns that are its operands."""
        return tuple(f"{'cd'[at]}_{kind}" for at, kind in enumerate(self.kinds))

    def call(self, *names: str) -> str:
        """The call with operands of these names."""
        return self.template.format(*names)

    def over(self, source: str, *names: str) -> str:
        """The statement over a source of rows."""
        grouped = self.template in _AGGREGATES
        rest = "GROUP BY g ORDER BY g" if grouped else "ORDER BY id"
        return f"SELECT {self.call(*names)} AS r FROM {source} {rest}"

    @property
    def sql(self) -> str:
        """The statement over the table itself."""
        return self.over("w", *self.columns())


@cache
def steps() -> tuple[Step, ...]:
    """The whole walk."""
    return tuple(_steps())


def _steps() -> Iterator[Step]:
    for template in (*_UNARY, *_AGGREGATES):
        for kind in KINDS:
            yield from _zoned(template, kind)
    for template in _BINARY:
        for left, right in product(KINDS, KINDS):
            yield from _zoned(template, left, right)


def _zoned(template: str, *kinds: str) -> Iterator[Step]:
    yield Step(template, kinds)
    timed = {"moment", "local", "date"} & {*kinds} or "unixtime" in template
    if timed and ("moment" in kinds or "zone" in template or "unixtime" in template):
        yield Step(template, kinds, "Europe/Berlin")


RENAMINGS = {
    "derived table": "(SELECT id, g, {columns} FROM w) AS q (id, g, {names})",
    "star": "(SELECT * FROM (SELECT id, g, {aliased} FROM w) AS p) AS q",
    "union": "(SELECT id, g, {columns} FROM w UNION ALL SELECT id, g, {columns} FROM w"
    " WHERE false) AS q (id, g, {names})",
    "values": "(VALUES (1, 1, {values}), (2, 1, {values})) AS q (id, g, {names})",
    "table": "w AS q ({all})",
    "join": "(SELECT v.id, u.g, {aliased} FROM w AS v JOIN (SELECT id, g FROM w) AS u USING (id))"
    " AS q",
}
"""Sources in which the operands have other names; `with` is one more."""


def renamed(step: Step, form: str) -> tuple[str, tuple[str, ...]]:
    """The statement over columns of other names, and these names."""
    columns = step.columns()
    names = tuple(f"k{at}" for at in range(len(columns)))
    listed = list(columns_of_table())
    for column, name in zip(columns, names, strict=True):
        listed[listed.index(column)] = name
    source = RENAMINGS["derived table" if form == "with" else form].format(
        columns=", ".join(columns),
        names=", ".join(names),
        aliased=", ".join(f"{c} AS {n}" for c, n in zip(columns, names, strict=True)),
        values=", ".join(_CONSTANTS[kind] for kind in step.kinds),
        all=", ".join(listed),
    )
    if form == "with":
        inner = source.partition("(")[2].partition(")")[0]
        listed_names = ", ".join(names)
        sql = f"WITH q (id, g, {listed_names}) AS ({inner}) {step.over('q', *names)}"
        return sql, names
    return step.over(source, *names), names


@cache
def columns_of_table() -> tuple[str, ...]:
    """The columns of the table."""
    return ("id", "g", *(f"{letter}_{kind}" for letter in "cd" for kind in KINDS))


def types(parts: tuple[str, ...]) -> Mapping[str, str] | None:
    """The columns' Spark types."""
    if parts[-1] != "w":
        return None
    own = {f"{letter}_{kind}": KINDS[kind][1] for letter in "cd" for kind in KINDS}
    return {"id": "int", "g": "int", **own}


def view(of: int) -> str:
    """A query that gives the table's rows, in Trino's words (0) or Spark's (1)."""
    rows = []
    for row in range(ROWS):
        cells = [str(row + 1), str(row % 2)]
        for shift, kind in product((0, 2), KINDS):
            type_, values = KINDS[kind][of], KINDS[kind][2]
            value = values[(row + shift) % len(values)] if row + 1 < ROWS else None
            cells.append(_cell(value, kind, type_, of))
        rows.append(f"({', '.join(cells)})")
    return f"SELECT * FROM (VALUES {', '.join(rows)}) AS t ({', '.join(columns_of_table())})"


def _cell(value: str | None, kind: str, type_: str, of: int) -> str:
    if value is None:
        return f"CAST(NULL AS {type_})"
    if kind == "bytes":
        return f"X'{value}'"
    if kind == "moment":
        value += " UTC" if of == 0 else "Z"
    return f"CAST('{value}' AS {type_})"


def spark_of(sql: str, zone: str) -> str | None:
    """Spark's text of a statement of the walk; None if the door refuses it."""
    try:
        return spark_text(sql, types, zone).replace("`c`.`s`.", "")
    except AcceleratorError:
        return None


def recorded() -> Mapping[str, Any]:
    """Trino's answers by the steps' keys."""
    found: Mapping[str, Any] = json.loads(ANSWERS.read_text())
    return found


def record(url: str) -> None:
    """Asks Trino for what isn't recorded yet; without `walk.json` for all."""
    ask(url, "DROP TABLE IF EXISTS w", "UTC")
    made = ask(url, f"CREATE TABLE w AS {view(0)}", "UTC")
    assert "error" not in made, made
    texts = {step: spark_of(step.sql, step.zone) for step in steps()}
    passed = [step for step, text in texts.items() if text is not None]
    batches: dict[tuple[str, str], list[Step]] = defaultdict(list)
    known = recorded() if ANSWERS.exists() else {}
    answers: dict[str, Mapping[str, Any]] = {}
    for step in passed:
        if step.key in known:
            answers[step.key] = {k: v for k, v in known[step.key].items() if k != "spark"}
            continue
        batches[step.zone, step.sql.rpartition(" FROM ")[2]].append(step)
    for some in batches.values():
        for at in range(0, len(some), _BATCH):
            answers.update(_asked(url, some[at : at + _BATCH]))
    found = {step.key: {"spark": texts[step], **answers[step.key]} for step in passed}
    lines = [f"{json.dumps(key)}: {json.dumps(one)}" for key, one in found.items()]
    ANSWERS.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def _asked(url: str, some: Sequence[Step]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The answers of steps over the same rows: asked as one statement, or in halves if it fails."""
    outputs = [f"{step.call(*step.columns())} AS r{at}" for at, step in enumerate(some)]
    rest = some[0].sql.rpartition(" AS r FROM ")[2]
    found = ask(url, f"SELECT {', '.join(outputs)} FROM {rest}", some[0].zone)
    if "error" not in found:
        for at, step in enumerate(some):
            rows = [[row[at]] for row in found["rows"]]
            yield step.key, {"types": [found["types"][at]], "rows": rows}
    elif len(some) == 1:
        yield some[0].key, found
    else:
        middle = len(some) // 2
        yield from _asked(url, some[:middle])
        yield from _asked(url, some[middle:])


_BATCH = 64
_CONSTANTS: Mapping[str, str] = {
    "whole": "1",
    "long": "BIGINT '7'",
    "decimal": "1.50",
    "double": "2.675e0",
    "real": "REAL '1.1'",
    "string": "'AIR'",
    "date": "DATE '2024-01-31'",
    "local": "TIMESTAMP '2024-01-31 12:34:56.789123'",
    "moment": "TIMESTAMP '2024-01-31 12:34:56.789123 UTC'",
    "boolean": "true",
    "bytes": "X'41'",
}

if __name__ == "__main__":
    record(sys.argv[1])
