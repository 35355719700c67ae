"""Statements that ask for the time: the same statement with the time as a constant.

Spark takes one moment for a whole statement (`now() = now()` is true). So `day >= current_date() -
7` compares with a constant, and bounds, cubes and indexes answer it. An output without an alias has
its text as its name: if it asks for the time, nothing is replaced.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime

from msgspec import Struct
from sqlglot import exp

from rewrite.ir.timestamps import clock
from rewrite.parse.parse import PARSER_FAILS, parse
from rewrite.text.spark_lexer import Token, scanned

_KINDS = {
    "CURRENT_DATE": "date",
    "CURDATE": "date",
    "CURRENT_TIMESTAMP": "timestamp",
    "NOW": "timestamp",
    "LOCALTIMESTAMP": "timestamp_ntz",
}
_ALONE = frozenset({"CURRENT_DATE", "CURRENT_TIMESTAMP"})
"""Those that need no parentheses."""
WORDS = tuple(key.lower() for key in _KINDS)
"""Functions of Spark's, of which a session may have its own."""
_ASKS = re.compile(rf"\b(?:{'|'.join(WORDS)})\b", re.IGNORECASE | re.ASCII)
_PARTS = ("now", "current_", "curdate", "localtimestamp")
_MARK = "acc_moment_"
_CLAUSES = frozenset(
    {"expressions", "from_", "group", "having", "joins", "order", "where", "with_"}
)


class TimedText(Struct, frozen=True):
    """A statement's text cut at where it asks for the time: `texts` stand around `asks`.

    `asks` are types: date, timestamp or timestamp_ntz. `names` (lower case) may be columns of
    `tables`; its WITH has the tables `defined`.
    """

    texts: tuple[str, ...]
    asks: tuple[str, ...]
    names: frozenset[str]
    tables: frozenset[tuple[str, ...]]
    defined: frozenset[str]

    def may_name(self, columns: Callable[[tuple[str, ...]], Mapping[str, str] | None]) -> bool:
        """Tests whether a column or field may be meant; `columns` are a table's, with types.

        Spark looks for a column first if no parentheses follow. An unknown table has None.
        """
        for parts in self.tables if self.names else ():
            known = columns(parts)
            if known is None and (len(parts) > 1 or parts[0].lower() not in self.defined):
                return True
            told = " ".join(text for pair in (known or {}).items() for text in pair).lower()
            if any(name in told for name in self.names):
                return True
        return False

    def at(self, moment: datetime, zone: str) -> str | None:
        """Returns the text with that moment as constants; None for an unknown zone.

        To Spark an equal constant in the text is another expression, to group by for example: None.
        """
        local = clock(moment, zone)
        if local is None or any(local.date().isoformat() in text for text in self.texts):
            return None
        instant = moment.astimezone(UTC).replace(tzinfo=None)
        constants = {
            "date": f"DATE '{local.date().isoformat()}'",
            "timestamp": f"TIMESTAMP_LTZ '{instant.isoformat(' ', 'microseconds')}Z'",
            "timestamp_ntz": f"TIMESTAMP_NTZ '{local.isoformat(' ', 'microseconds')}'",
        }
        return _joined(self.texts, [constants[kind] for kind in self.asks])


def asks_for_time(sql: str) -> bool:
    """Tests for the words alone; a constant or a comment may have them, too."""
    lowered = sql.lower()  # most texts have no part of a word; it's found in a tenth of the time
    return any(part in lowered for part in _PARTS) and _ASKS.search(sql) is not None


def timed_text(sql: str) -> TimedText | None:
    """The text cut at where it asks for the time; None if it doesn't, or if that isn't clear.

    >>> timed_text("SELECT a FROM t WHERE d >= current_date() - 7").texts
    ('SELECT a FROM t WHERE d >= ', ' - 7')

    >>> timed_text("SELECT now() FROM t") is None
    True
    """
    if not asks_for_time(sql) or _MARK in sql:
        return None
    tokens = scanned(sql)
    found = [] if not tokens or tokens[-1].kind == "unclosed" else _asks(sql, tokens)
    keys = [key for key, _, _ in found]
    if not keys or {"NOW", "CURRENT_TIMESTAMP"} <= {*keys}:
        return None  # the two are different expressions to Spark
    ends = [0, *(end for _, _, end in found)]
    starts = [*(start for _, start, _ in found), len(sql)]
    texts = tuple(sql[end:start] for end, start in zip(ends, starts, strict=True))
    marks = [f"{_MARK}{place}" for place in range(len(found))]
    try:
        tree = parse(_joined(texts, marks))
    except PARSER_FAILS:
        return None
    if not _are_operands(tree, marks):
        return None
    names = {key for key, _, end in found if sql[end - 1] != ")"}
    words = [word.upper() for word in _ASKS.findall(sql)]
    if any(words.count(name) > keys.count(name) for name in names):
        return None  # the word may also be an alias, or a field in a text
    tables = frozenset(tuple(p.name for p in one.parts) for one in tree.find_all(exp.Table))
    defined = frozenset(one.alias.lower() for one in tree.find_all(exp.CTE))
    columns = frozenset(map(str.lower, names))
    return TimedText(texts, tuple(_KINDS[key] for key in keys), columns, tables, defined)


def _joined(texts: Sequence[str], between: Sequence[str]) -> str:
    return "".join(part for pair in zip(texts, (*between, ""), strict=True) for part in pair)


def _asks(sql: str, tokens: Sequence[Token]) -> list[tuple[str, int, int]]:
    """The words that ask for the time, each with where it begins and ends."""
    keys = ["", *(token.key for token in tokens), "", ""]
    found = []
    for place, token in enumerate(tokens):
        before, after = keys[place], keys[place + 2]
        if token.key not in _KINDS or "." in (before, after):
            continue
        if not sql[token.start : token.end].isascii():
            return []
        if after == "(" and keys[place + 3] == ")":
            found.append((token.key, token.start, tokens[place + 2].end))
        elif after != "(" and token.key in _ALONE:
            found.append((token.key, token.start, token.end))
    return found


def _are_operands(tree: exp.Expression, marks: Sequence[str]) -> bool:
    """Tests whether each mark is a value in a clause, and in no output that has no name."""
    places = [one for one in tree.find_all(exp.Column) if one.name.startswith(_MARK)]
    named = [one for one in tree.find_all(exp.Identifier) if one.name.startswith(_MARK)]
    if sorted(one.name for one in places) != sorted(marks) or len(named) != len(marks):
        return False
    if tree.find(exp.Pivot):  # names outputs by values and aggregates
        return False
    return all(map(_is_operand, places))


def _is_operand(place: exp.Column) -> bool:
    if len(place.parts) != 1:
        return False
    node: exp.Expr = place
    while node.parent is not None:
        parent = node.parent
        if isinstance(node, (exp.Table, exp.Version, exp.Limit, exp.Offset, exp.Hint)):
            return False
        if isinstance(parent, exp.Select):
            if node.arg_key not in _CLAUSES:
                return False
            if node.arg_key == "expressions" and not isinstance(node, exp.Alias):
                return False
        node = parent
    return isinstance(node, (exp.Select, exp.SetOperation, exp.Subquery))
