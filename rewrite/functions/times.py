"""Functions of dates and of timestamps in UTC."""

from __future__ import annotations

from collections.abc import Sequence

from rewrite.functions.casts import date_of_text
from rewrite.functions.row import Arguments, Signature, SparkFunction, checked, constant

_MONTHS_APART = "((year({0}) - year({1})) * 12 + (month({0}) - month({1})))"
_LAST = "day({0}) = day(last_day({0})) AND day({1}) = day(last_day({1}))"
_SECONDS = "(CAST(day({0}) - day({1}) AS BIGINT) * 86400)"


def _months_between(_args: Arguments, texts: Sequence[str]) -> str:
    """Whole months between equal days or last ones, else by months of 31 days, in 8 digits."""
    months, last, seconds = (text.format(*texts) for text in (_MONTHS_APART, _LAST, _SECONDS))
    between = f"(CAST({months} AS DOUBLE) + CAST({seconds} AS DOUBLE) / 2678400::DOUBLE)"
    rounded = f"floor({between} * 1e8::DOUBLE + 0.5::DOUBLE) / 1e8::DOUBLE"
    same_day = f"day({texts[0]}) = day({texts[1]}) OR ({last})"
    return f"(CASE WHEN {same_day} THEN CAST({months} AS DOUBLE) ELSE {rounded} END)"


_FIRST, _LAST_MOMENT = (
    f"make_timestamptz({micros})" for micros in (946_857_600_000_000, 2_145_744_000_000_000)
)
"""The years 2000 to 2037, but for days at their ends."""
_CLOCKED = {"timestamp": "make_timestamptz", "timestamp_ntz": "make_timestamp"}
MICROS = {
    "MICROSECOND": 1,
    "MILLISECOND": 1_000,
    "SECOND": 1_000_000,
    "MINUTE": 60_000_000,
    "HOUR": 3_600_000_000,
    "DAY": 86_400_000_000,
    "WEEK": 7 * 86_400_000_000,
}
MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
DAYS = {"DAY": 1, "WEEK": 7}
ADDED_UNITS = frozenset({*MICROS, *MONTHS})
ZONED = frozenset({*DAYS, *MONTHS})
"""Units whose length is told by a zone's clock."""


def _added(args: Arguments, texts: Sequence[str]) -> str:
    """A timestamp so many units later; its clock is UTC's where the unit needs one."""
    unit, (_, count, at, *_) = constant(args[0]) or "", texts
    make = _CLOCKED[args[2].type or ""]
    if unit in MICROS:
        return f"{make}(epoch_us({at}) + CAST({count} AS BIGINT) * {MICROS[unit]})"
    months = f"to_months(CAST({count} * {MONTHS[unit]} AS INTEGER))"
    return f"{make}(epoch_us(make_timestamp(epoch_us({at})) + {months}))"


_ISO = "{0}"
_DATE_FORMATS = {
    "yyyy-MM-dd": ("[0-9]{4}-[0-9]{2}-[0-9]{2}", _ISO),
    "yyyyMMdd": ("[0-9]{8}", "({0}[1:4] || '-' || {0}[5:6] || '-' || {0}[7:8])"),
    "dd.MM.yyyy": (
        "[0-9]{2}[.][0-9]{2}[.][0-9]{4}",
        "({0}[7:10] || '-' || {0}[4:5] || '-' || {0}[1:2])",
    ),
    "dd/MM/yyyy": (
        "[0-9]{2}/[0-9]{2}/[0-9]{4}",
        "({0}[7:10] || '-' || {0}[4:5] || '-' || {0}[1:2])",
    ),
    "MM/dd/yyyy": (
        "[0-9]{2}/[0-9]{2}/[0-9]{4}",
        "({0}[7:10] || '-' || {0}[1:2] || '-' || {0}[4:5])",
    ),
}
"""Formats of dates by the texts that they read whole, and these in DuckDB's order."""


def _is_date_format(args: Arguments) -> str | None:
    return "date" if constant(args[1]) in _DATE_FORMATS else None


def _read_date(args: Arguments, texts: Sequence[str]) -> str:
    pattern, ordered = _DATE_FORMATS[constant(args[1]) or ""]
    if ordered == _ISO:
        return date_of_text(pattern).text(texts[0])
    read = f"CAST({ordered.format(texts[0])} AS DATE)"
    return checked(f"regexp_full_match({texts[0]}, '{pattern}')", read)


def _of_time(args: Arguments) -> str | None:
    return args[2].type if args[2].type in _CLOCKED else None


def _in_agreed_years(text: str, value: str) -> str:
    """The text where all editions of time zone data tell the zone's clock alike."""
    return checked(f"{value} BETWEEN {_FIRST} AND {_LAST_MOMENT}", text)


def _local_clock(args: Arguments, texts: Sequence[str]) -> str:
    return _in_agreed_years(f"timezone('{constant(args[1])}', {texts[0]})", texts[0])


def _truncated_in(args: Arguments, texts: Sequence[str]) -> str:
    """The first moment of a bucket of the zone's clock.

    Of an hour or less it's as much earlier as the clock shows; of days it's a midnight, which such
    a zone has on each day, once.
    """
    unit, (_, value, _zone) = constant(args[0]) or "", texts
    zone = constant(args[2])
    if args[1].type == "date":
        midnight = f"date_trunc('{unit}', CAST({value} AS TIMESTAMP))"
        return _in_agreed_years(f"timezone('{zone}', {midnight})", f"CAST({value} AS TIMESTAMPTZ)")
    clock = f"timezone('{zone}', {value})"
    floor = f"date_trunc('{unit}', {clock})"
    found = f"timezone('{zone}', {floor})"
    if unit in MICROS and unit not in DAYS:
        found = f"make_timestamptz(epoch_us({value}) - (epoch_us({clock}) - epoch_us({floor})))"
    return _in_agreed_years(found, value)


def _converted(args: Arguments, texts: Sequence[str]) -> str:
    instant = f"make_timestamptz(epoch_us({texts[2]}))"
    return _in_agreed_years(f"timezone('{constant(args[1])}', {instant})", instant)


def _of_utc(args: Arguments) -> str | None:
    return "timestamp_ntz" if constant(args[0]) == "UTC" else None


def _rounded_down(unit: str) -> str:
    """Whole units between 1970 and an instant."""
    micros, size = "epoch_us({0})", MICROS[unit]
    if size == 1:
        return micros
    return f"(({micros} - (({micros} % {size}) + {size}) % {size}) // {size})"


def _is_time(args: Arguments) -> str | None:
    return "timestamp" if args[1].type in ("date", "timestamp") else None


TIMES = (
    SparkFunction(
        "date_add",
        (Signature(("as date", "int"), "date", "({0} + {1})"),),
        words=("date_add", "dateadd"),
        nodes=("TsOrDsAdd",),
        slots=("this", "expression"),
        flags=frozenset({"unit"}),
        named=(("dateadd", "date_add"),),
    ),
    SparkFunction("date_sub", (Signature(("as date", "int"), "date", "({0} - {1})"),)),
    SparkFunction(
        "datediff",
        (Signature(("as date", "as date"), "int", "CAST({0} - {1} AS INTEGER)"),),
        words=("datediff", "date_diff"),
        nodes=("DateDiff",),
        slots=("this", "expression"),
    ),
    SparkFunction(
        "add_months",
        (Signature(("as date", "int"), "date", "CAST({0} + to_months({1}) AS DATE)", raises=True),),
        nodes=("AddMonths",),
        slots=("this", "expression"),
    ),
    SparkFunction(
        "to_date",
        (Signature(("as text", "=string"), _is_date_format, _read_date, raises=True),),
    ),
    SparkFunction(
        "last_day", (Signature(("as date",), "date", "last_day({0})"),), nodes=("LastDay",)
    ),
    SparkFunction(
        "months_between",
        (Signature(("date", "date"), "double", _months_between),),
        nodes=("MonthsBetween",),
        slots=("this", "expression", "roundoff"),
        behind=", true",
    ),
    SparkFunction(
        "timestampadd",
        hidden=True,
        spark="timestampadd({0}, {1}, {2})",
        forms=(
            Signature(("unit", "int", "any"), _of_time, _added, raises=True),
            Signature(("unit", "int", "any", "zone"), _of_time, _added, raises=True),
        ),
    ),
    *(
        SparkFunction(
            f"unix_{word}",
            (Signature(("timestamp",), "bigint", _rounded_down(unit)),),
            nodes=(node,),
        )
        for word, unit, node in (
            ("seconds", "SECOND", "UnixSeconds"),
            ("millis", "MILLISECOND", "UnixMillis"),
            ("micros", "MICROSECOND", "UnixMicros"),
        )
    ),
    *(
        SparkFunction(
            f"timestamp_{word}",
            (
                Signature(
                    ("whole",),
                    "timestamp",
                    f"make_timestamptz(CAST({{0}} AS BIGINT) * {MICROS[unit]})",
                    raises=unit != "MICROSECOND",
                ),
            ),
        )
        for word, unit in (
            ("seconds", "SECOND"),
            ("millis", "MILLISECOND"),
            ("micros", "MICROSECOND"),
        )
    ),
    SparkFunction(
        "convert_timezone",
        (Signature(("=string", "zone", "timestamp_ntz"), _of_utc, _converted),),
        nodes=("ConvertTimezone",),
        slots=("source_tz", "target_tz", "timestamp"),
        spark="convert_timezone({0}, '{1}', {2})",
    ),
    SparkFunction(
        "local_clock",
        (Signature(("timestamp", "zone"), "timestamp_ntz", _local_clock),),
        hidden=True,
        spark="CAST({0} AS TIMESTAMP_NTZ)",
    ),
    SparkFunction(
        "date_trunc_in",
        (Signature(("unit", "any", "zone"), _is_time, _truncated_in),),
        hidden=True,
        spark="date_trunc('{0}', {1})",
    ),
)
