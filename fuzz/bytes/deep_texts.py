"""SQL texts made deep, wide or long by chance: brackets, prefixes, chains, lists and repeats.

As in `mutations.py` all is drawn from the dice that are given.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from fuzz.bytes.mutations import damaged

_TIMES = (3, 9, 13, 17, 40, 150, 190, 210, 300, 1_000, 5_000, 40_000, 120_000)
_AROUND = (
    *(("(", ")"), ("ROW(", ")"), ("ARRAY[", "]"), ("array(", ")"), ("STRUCT(", ")"), ("MAP(", ")")),
    *(("DATE (", ")"), ("DECIMAL(", ")"), ("JSON(", ")"), ("abs(", ")"), ("if(a, ", ", b)")),
    *(("CASE WHEN a THEN ", " END"), ("CAST(", " AS int)"), ("(SELECT ", ")"), ("{fn ", "}")),
    *(("coalesce(a, ", ")"), ("`array`(", ")"), ("EXISTS (SELECT ", ")"), ("a IN (SELECT ", ")")),
    *(("CAST(a AS ARRAY<", ">)"), ("transform(a, x -> ", ")"), ("extract(day FROM ", ")")),
    *(
        ("WITH w AS (SELECT ", ") SELECT 1"),
        ("SELECT * FROM (", ") a"),
        ("sum(a) OVER (ORDER BY ", ")"),
    ),
)
_BEFORE = (
    "NOT ",
    "- ",
    "~ ",
    "+ ",
    "IF ",
    "INTERVAL ",
    "CASE ",
    "DATE ",
    "x -> ",
    "SELECT ",
    "FROM ",
)
_BEHIND = (
    *(" AND a", " OR b = 1", " + a - a", " || 'a'", "::int", "[1]", ".b", ":b", " IS NULL", ", a"),
    *(" UNION ALL SELECT 1", " EXCEPT SELECT 1", " JOIN t", " JOIN t ON a = b", ", t", ";"),
    *(" /* a */", " -- a\n", " a", " 'a'", " IN (1)", " LIKE '%a%a%a%'", " AT TIME ZONE 'UTC'"),
    *(
        "--\\\n",
        "-",
        " ",
        "\n",
        "'",
        "$",
        "\u00e9",
        ", date_trunc(a, b)",
        " is",
        " with",
        "convert ",
    ),
)
_PIECE_MAX = 60
_TEXT_MAX = 1_100_000


def deep_text(r: Random, text: bytes, others: Sequence[bytes]) -> bytes:
    """Returns the text with one part of it nested, repeated or listed, or damaged as bytes."""
    found = text.decode(errors="replace")
    for _ in range(r.choice((1, 1, 1, 2, 3))):
        found = r.choice(_CHANGES)(r, found)[:_TEXT_MAX]
    data = found.encode(errors="replace")
    return damaged(r, data, others)[0] if r.random() < 0.15 else data


def _place(r: Random, text: str) -> int:
    """Returns a place in the text, mostly between two words."""
    places = [at + 1 for at, letter in enumerate(text[:5_000]) if letter in " (,"]
    return (
        r.choice(places) if places and r.random() < 0.8 else r.randrange(min(len(text), 5_000) + 1)
    )


def _nested(r: Random, text: str) -> str:
    before, after = r.choice(_AROUND)
    times, at = r.choice(_TIMES), _place(r, text)
    inner = r.choice(("1", "a", "", "SELECT 1"))
    closed = after * r.choice((times, times, 0, times // 2))
    return f"{text[:at]}{before * times}{inner}{closed}{text[at:]}"


def _prefixed(r: Random, text: str) -> str:
    at = _place(r, text)
    return text[:at] + r.choice(_BEFORE) * r.choice(_TIMES) + text[at:]


def _chained(r: Random, text: str) -> str:
    at = r.choice((_place(r, text), len(text)))
    return text[:at] + r.choice(_BEHIND) * r.choice(_TIMES) + text[at:]


def _repeated(r: Random, text: str) -> str:
    """A piece of the text itself, many times."""
    begin = _place(r, text)
    end = min(begin + r.randrange(1, _PIECE_MAX), len(text))
    return text[:end] + text[begin:end] * r.choice(_TIMES) + text[end:]


def _listed(r: Random, text: str) -> str:
    times = r.choice(_TIMES[:-1])
    items = ", ".join(f"c{number} AS (SELECT a FROM t)" for number in range(times))
    lists = (f"WITH {items} {text}", f"{text} WHERE a IN ({', '.join(map(str, range(times)))})")
    rows = f"{text} UNION ALL VALUES {', '.join(['(1, 2)'] * times)}"
    names = f"SELECT {', '.join(f'a AS c{number}' for number in range(times))} FROM ({text}) x"
    return r.choice((*lists, rows, names))


_CHANGES = (_nested, _nested, _nested, _prefixed, _chained, _chained, _repeated, _listed)
