"""Trino's formats of times as Spark SQL: `date_format`, `format_datetime`, `date_parse`.

Written texts are made of the time's parts, since Spark's formats are those of moments in the
session's zone, where an hour may be missing. Read texts are read by Spark's pattern of the same
meaning. Each specifier is listed; others are refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from sqlglot import exp

from rewrite.dialects.rule import UnsureMeaningError, spark
from rewrite.dialects.trino import dates as times

_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July", "August", "September"),
    *("October", "November", "December"),
)
_DAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")


def _named(names: Sequence[str], place: str, letters: int | None = None) -> tuple[str, str]:
    cases = " ".join(f"WHEN {at} THEN '{name[:letters]}'" for at, name in enumerate(names, 1))
    return "%s", f"CASE {place} {cases} END"


_Part = tuple[str, str]
"""The form of a part, as C's `printf` names it, and what it is of the time `:t`."""
_YEAR: _Part = ("%04d", "YEAR(:t)")
_YEAR_SHORT: _Part = ("%02d", "PMOD(YEAR(:t), 100)")
_MONTH = "MONTH(:t)"
_DAY = "DAY(:t)"
_HOUR = "HOUR(:t)"
_HOUR_OF_HALF = "(HOUR(:t) + 11) % 12 + 1"
_MINUTE: _Part = ("%02d", "MINUTE(:t)")
_SECOND: _Part = ("%02d", "SECOND(:t)")
_HALF: _Part = ("%s", "CASE WHEN HOUR(:t) < 12 THEN 'AM' ELSE 'PM' END")
_MILLIS = "CAST(FLOOR(EXTRACT(SECOND FROM :t) * 1000) AS INT) % 1000"
_WEEKDAY = "DAYOFWEEK(:t)"
_WEEK_YEAR = "EXTRACT(YEAROFWEEK FROM :t)"
_WRITTEN: Mapping[str, Sequence[_Part | str]] = {
    "Y": (_YEAR,),
    "y": (_YEAR_SHORT,),
    "m": (("%02d", _MONTH),),
    "-m": (("%d", _MONTH),),
    "d": (("%02d", _DAY),),
    "-d": (("%d", _DAY),),
    "j": (("%03d", "DAYOFYEAR(:t)"),),
    "H": (("%02d", _HOUR),),
    "-H": (("%d", _HOUR),),
    "I": (("%02d", _HOUR_OF_HALF),),
    "-I": (("%d", _HOUR_OF_HALF),),
    "M": (_MINUTE,),
    "S": (_SECOND,),
    "f": (("%03d", _MILLIS), "000"),
    "p": (_HALF,),
    "B": (_named(_MONTHS, _MONTH),),
    "b": (_named(_MONTHS, _MONTH, 3),),
    "A": (_named(_DAYS, _WEEKDAY),),
    "a": (_named(_DAYS, _WEEKDAY, 3),),
    "v": (("%02d", "WEEKOFYEAR(:t)"),),
    "G": (("%04d", _WEEK_YEAR),),
    "%": ("%",),
}
"""Specifiers as the parser gives MySQL's: Python's where it has one. Of `%f` milliseconds are told.
"""
_JODA: Mapping[str, Sequence[_Part]] = {
    **dict.fromkeys(("yyyy", "YYYY"), (_YEAR,)),
    "yy": (_YEAR_SHORT,),
    "xxxx": (("%04d", _WEEK_YEAR),),
    "MM": (("%02d", _MONTH),),
    "M": (("%d", _MONTH),),
    "MMM": (_named(_MONTHS, _MONTH, 3),),
    "MMMM": (_named(_MONTHS, _MONTH),),
    "dd": (("%02d", _DAY),),
    "d": (("%d", _DAY),),
    "DDD": (("%03d", "DAYOFYEAR(:t)"),),
    "D": (("%d", "DAYOFYEAR(:t)"),),
    "HH": (("%02d", _HOUR),),
    "H": (("%d", _HOUR),),
    "hh": (("%02d", _HOUR_OF_HALF),),
    "h": (("%d", _HOUR_OF_HALF),),
    "mm": (_MINUTE,),
    "ss": (_SECOND,),
    "SSS": (("%03d", _MILLIS),),
    "a": (_HALF,),
    **dict.fromkeys(("E", "EE", "EEE"), (_named(_DAYS, _WEEKDAY, 3),)),
    "EEEE": (_named(_DAYS, _WEEKDAY),),
    "ww": (("%02d", "WEEKOFYEAR(:t)"),),
    "e": (("%d", "(DAYOFWEEK(:t) + 5) % 7 + 1"),),
}
_READ: Mapping[str, tuple[str, str]] = {
    "Y": ("y", "yyyy"),
    **dict.fromkeys(("m", "-m"), ("M", "MM")),
    **dict.fromkeys(("d", "-d"), ("d", "dd")),
    **dict.fromkeys(("H", "-H"), ("H", "HH")),
    "M": ("m", "mm"),
    "S": ("s", "ss"),
}
"""Spark's letters of a part that is read, where it stands alone, and beside another."""
_TEXT_MAX = 500
_CLOCK = "clock"
"""The key in the `meta` of a text of the time that a cast reads from it."""
_UNITS = {
    "%Y-%m-%d": "DAY",
    "%Y-%m-%d %H:%M": "MINUTE",
    "%Y-%m-%d %H:%M:%S": "SECOND",
}
"""Formats that a cast reads, as the parser writes them, and the unit of their last part."""


def written(time: exp.Expr, format_: str, *, utc: bool = False) -> exp.Expression:
    """`date_format` of a time without a zone; UnsureMeaningError for what isn't known."""
    pieces = _pieces(_specifiers(format_), _WRITTEN, "a specifier of the format")
    found, unit = _composed(time, pieces), _UNITS.get(format_)
    if unit is not None:
        found.meta[_CLOCK] = times.truncated(time, "local", unit, utc=utc)
    return found


def clock_of(text: exp.Expr) -> exp.Expression | None:
    """The time that a text of `written` is read as; None of another text."""
    clock: exp.Expression | None = text.unnest().meta_get(_CLOCK)
    return None if clock is None else clock.copy()


def written_by_letters(time: exp.Expr, format_: str) -> exp.Expression:
    """`format_datetime` of the same."""
    return _composed(time, _pieces(_letters(format_), _JODA, "{}"))


def _pieces(
    found: Iterable[tuple[str | None, str]], known: Mapping[str, Sequence[_Part | str]], what: str
) -> list[_Part | str]:
    """What the parts of a format are written by; `what` names one that isn't known."""
    pieces: list[_Part | str] = []
    for part, text in found:
        if part is None:
            pieces.append(text)
        elif part in known:
            pieces += known[part]
        else:
            raise UnsureMeaningError(f"{what.format(part)} isn't known")
    return pieces


def read(text: exp.Expr, format_: str) -> exp.Expression:
    """`date_parse` of a date, or of a date and a time, to the second.

    Spark reads any number of digits where Trino reads two at most: a longer text is made to fail.
    """
    pieces = list(_specifiers(format_))
    pattern, shape, parts, is_loose = "", "", list[str](), False
    for at, (specifier, between) in enumerate(pieces):
        if specifier is None or specifier == "%":
            constant = between if specifier is None else "%"
            pattern += _pattern_text(constant)
            shape += "".join(one if one.isalnum() else f"\\{one}" for one in constant)
            continue
        if specifier not in _READ:
            raise UnsureMeaningError("a specifier of the format isn't known")
        alone, beside = _READ[specifier]
        near = _is_digits(pieces, at - 1) or _is_digits(pieces, at + 1)
        pattern += beside if near else alone
        width = f"{{{len(beside)}}}" if near else "{1,2}"
        shape += "-?[0-9]{1,4}" if alone == "y" and not near else f"[0-9]{width}"
        is_loose = is_loose or not near
        parts.append(alone)
    _check_parts(parts)
    if not is_loose:
        return spark("TO_TIMESTAMP_NTZ(:s, :f)", "local", s=text, f=pattern)
    return spark(
        "TO_TIMESTAMP_NTZ(CASE WHEN :s RLIKE :p THEN :s ELSE CONCAT(:s, '?') END, :f)",
        "local",
        s=text,
        f=pattern,
        p=f"^{shape}\\z",
    )


def _check_parts(parts: Sequence[str]) -> None:
    """Spark takes other parts for granted than Trino where some are missing between."""
    if len(set(parts)) < len(parts):
        raise UnsureMeaningError("a part that is read twice isn't known")
    order = ["y", "M", "d", "H", "m", "s"]
    if sorted(parts, key=order.index) != order[: len(parts)] or len(parts) < 3:
        raise UnsureMeaningError("only a year, month and day, and a time behind it, are read alike")


def _is_digits(pieces: Sequence[tuple[str | None, str]], at: int) -> bool:
    """Whether what stands there is made of digits, so that places decide where a part ends."""
    if not 0 <= at < len(pieces):
        return False
    specifier, text = pieces[at]
    return specifier not in (None, "%") or text[:1].isdigit() or text[-1:].isdigit()


def _pattern_text(text: str) -> str:
    """A text between parts, in quotes where Spark has letters and signs of its own."""
    if any(not one.isascii() or not one.isprintable() or one in '#[]{}"' for one in text):
        raise UnsureMeaningError("only texts of ASCII between parts are")
    if not any(one.isalnum() or one == "'" for one in text):
        return text
    return "'" + text.replace("'", "''") + "'"


def _specifiers(format_: str) -> Iterator[tuple[str | None, str]]:
    """Specifiers, and the texts between them."""
    if not format_ or len(format_) > _TEXT_MAX:
        raise UnsureMeaningError("a format of that length isn't known")
    at, text = 0, ""
    while at < len(format_):
        if format_[at] != "%":
            text += format_[at]
            at += 1
            continue
        if at + 1 == len(format_):
            raise UnsureMeaningError("the format ends in %")
        if text:
            yield None, text
            text = ""
        length = 2 if format_[at + 1] == "-" else 1
        yield format_[at + 1 : at + 1 + length], ""
        at += 1 + length
    if text:
        yield None, text


def _letters(format_: str) -> Iterator[tuple[str | None, str]]:
    """Runs of one letter, and the texts between them."""
    if not format_ or len(format_) > _TEXT_MAX or "'" in format_:
        raise UnsureMeaningError("only formats without quotes are")
    for one, run in groupby(format_):
        text = "".join(run)
        if one.isalpha() and not one.isascii():
            raise UnsureMeaningError("only letters of ASCII are")
        yield (text, "") if one.isalpha() else (None, text)


def _composed(time: exp.Expr, pieces: Sequence[_Part | str]) -> exp.Expression:
    """Puts constant texts and parts together; NULL if the time is NULL."""
    if all(isinstance(one, str) for one in pieces):
        raise UnsureMeaningError("a format without parts isn't known")
    texts: dict[str, str] = {}
    parts: list[str] = []
    for is_text, run in groupby(pieces, lambda one: isinstance(one, str)):
        if is_text:
            texts[f"x{len(texts)}"] = "".join(map(str, run))
            parts.append(f":x{len(texts) - 1}")
        else:
            parts += [_part_text(*one) for one in run if not isinstance(one, str)]
    found = parts[0] if len(parts) == 1 else f"CONCAT({', '.join(parts)})"
    return spark(found, "string", t=time, **texts)


def _part_text(form: str, part: str) -> str:
    """Writes a part as FORMAT_STRING would, by functions that are computed in process."""
    if form == "%s":
        return part
    text = f"CAST({part} AS STRING)"
    if form == "%d":
        return text
    padded = f"LPAD({text}, {int(form[1:-1])}, '0')"
    return f"CASE WHEN {part} < 10000 THEN {padded} ELSE {text} END" if form == "%04d" else padded
