"""SQL text to sqlglot's tree, with the names that functions were written under.

The tree has one node for `variance` and `var_samp`, and for words that Spark doesn't know; Spark
names an output by the word that was written. So each call keeps it as `meta["written"]`.
"""

from __future__ import annotations

import re
from itertools import pairwise

from sqlglot import Token, TokenType, exp
from sqlglot.errors import ParseError, SqlglotError

from rewrite.parse.bounds import (
    CODE,
    TooDeepError,
    check_length,
    measured,
    tokens_of,
    trees_of,
    uncollected,
)
from rewrite.parse.original_spelling import mark, take
from rewrite.parse.token_conservation import lost
from rewrite.reason import Declined

PARSER_FAILS = (SqlglotError, RecursionError, AttributeError, LookupError, TypeError, ValueError)
"""Over what it doesn't know the parser fails in ways of its own too."""
_MARK = "acc_word_"
_WORDS = frozenset({"VAR", "IDENTIFIER", "MATCH"})
_KEPT = frozenset(
    {
        "collate",
        "date_sub",
        "from_utc_timestamp",
        "instr",
        "listagg",
        "locate",
        "log10",
        "log2",
        "ltrim",
    }
    | {"map_from_arrays", "named_struct", "overlay", "parse_json", "percentile_cont"}
    | {"percentile_disc", "position"}
    | {"rtrim", "sequence", "space", "str_to_map", "string_agg", "to_char", "to_number"}
    | {"to_utc_timestamp", "trim", "unix_date", "unix_timestamp"}
)
"""Functions that the parser would write otherwise, with arguments moved, added or left out; nothing
here looks into them."""
# The parser reads `double(a, b)` as CAST(a AS DOUBLE) and forgets b.
_OF_ONE = re.compile(r"\s*\(\s*(?:'[^'\\]*'|[\w.`]+)\s*\)")
_TRIM_SIDES = frozenset({"BOTH", "LEADING", "TRAILING"})
_UNKNOWN = re.compile(r"\b(?:convert|safe_cast)\s*\(", re.IGNORECASE)
_ZONED = re.compile(r"\bwith(?:out)?\s+(?:local\s+)?time\s+zone\b", re.IGNORECASE)
_ZONELESS = re.compile(r"\bwithout\s+time\s+zone\b|\blocal\s+time\s+zone\b", re.IGNORECASE)
# Behind such a test Spark's grammar has no further operator; the parser puts parentheses around it.
_TESTED = re.compile(
    r"\bis\s+(?:not\s+)?(?:null|true|false|unknown)\s*(?:[=<>!+*%&|^]|-(?!-)|/(?!\*)|(?:not\s+)?"
    r"(?:between|in|like|ilike|rlike|regexp|div)\b)",
    re.IGNORECASE,
)
_CLASSES = re.compile(r"Required keyword: '\w+' missing for <class '[^']*'>")
_NO_OUTPUTS = re.compile(r"\bselect\s*(?:/\*.*?\*/\s*)?(?:from\b|\)|$)", re.IGNORECASE)
_TESTS = ("null", "true", "false", "unknown")
# The parser writes units out, which Spark doesn't know short: trunc(d, 'W') is NULL.
_FIRST_UNIT = re.compile(r"\s*\(\s*'([a-z]+)'\s*,", re.IGNORECASE)
_LAST_UNIT = re.compile(r",\s*'([a-z]+)'\s*\)", re.IGNORECASE)
# Possessive, so that a word is never tried in pieces.
_CALL_MAX = 10_000
"""The characters of a call in which its unit is looked for."""
_HINT = re.compile(
    r"/\*\+(?:[\s,]*+\w++(?:\s*+\(\s*+[\w.`'-]++(?:\s*+,\s*+[\w.`'-]++)*+\s*+\))?+)++\s*+\*/",
    re.ASCII,
)
_CONTINUED = re.compile(r"\\\r?\n")


@uncollected()
def parse(sql: str, dialect: str = "spark") -> exp.Expression:
    """The one statement of the text; SqlglotError if it can't be parsed, TooDeepError among them.

    >>> parse("SELECT var_samp(x) FROM t").expressions[0].meta["written"]
    'var_samp'
    """
    check_text(sql, dialect)
    try:
        tree = _of_tokens(sql, dialect)
    except (AttributeError, LookupError, TypeError, ValueError) as error:  # `date_trunc()`
        raise ParseError(f"The parser fails inside: {error}") from error
    except RecursionError as error:
        raise TooDeepError("Its operators are nested too deeply.") from error
    if dialect == "spark" and not sql.isascii():
        _check_letters(tree)
    may_lack = dialect != "trino" and _NO_OUTPUTS.search(sql)  # Trino's syntax is checked whole
    if may_lack and any(not one.expressions for one in tree.find_all(exp.Select)):
        raise UnsureError("A SELECT has no columns.")
    for node in tree.find_all(exp.Func):
        start, end = node.meta_get("start"), node.meta_get("end")
        if start is not None and end is not None:
            call = sql[start : end + 1].lower()
            lost = isinstance(node, exp.Cast) and not _OF_ONE.match(sql, end + 1)
            node.meta["written"] = f"{call}(…)" if lost else call
            if isinstance(node, (exp.DateTrunc, exp.TimestampTrunc)):
                unit = _FIRST_UNIT.match(sql, end + 1)
                unit = unit or _LAST_UNIT.search(sql, end + 1, end + _CALL_MAX)
                node.meta["unit"] = unit and unit[1].upper()
    return tree


def _check_letters(tree: exp.Expression) -> None:
    """UnsureError for a name with letters that Spark takes only in backticks."""
    for name in tree.find_all(exp.Identifier):
        if not name.args.get("quoted") and not str(name.this).isascii():
            raise UnsureError(f"Spark takes the name {name.this} only in backticks.")


def _of_tokens(sql: str, dialect: str) -> exp.Expression:
    """The tree of one statement; the parser would take the word `match` for MATCH … AGAINST."""
    tokens, work = measured(sql, dialect)
    marked = False
    for place, (token, behind) in enumerate(pairwise(tokens)):
        if token.token_type is TokenType.HINT and not _HINT.fullmatch(token.text):
            raise UnsureError(f"To Spark this is no hint: {token.text[:40]}")
        word = token.text.lower()
        called = token.token_type is TokenType.VAR and behind.token_type is TokenType.L_PAREN
        kept = called and word in _KEPT and dialect != "trino"
        if kept or (called and word == "to_date" and dialect == "spark"):
            kept = not _has_own_syntax(word, tokens, place + 2)
        if (word == "match" and token.token_type.name in _WORDS) or kept:
            token.text, marked = _MARK + token.text, True
    spelled = dialect == "spark" and mark(tokens)
    tree = _only(trees_of(tokens, sql, dialect, work))
    if dialect == "spark" and isinstance(tree, exp.Query):
        _check_conserved(tree, tokens)
        tree = _only(trees_of(tokens, sql, dialect, work))
    if spelled:
        take(tree)
    for node in tree.find_all(exp.Anonymous, exp.Identifier) if marked else ():
        if isinstance(node.this, str) and node.this.startswith(_MARK):
            node.set("this", node.this.removeprefix(_MARK))
    return tree


def _has_own_syntax(word: str, tokens: list[Token], first: int) -> bool:
    """Tests whether the parser knows the call as it's written, by its first argument's tokens.

    So it's with TRIM(BOTH a FROM b), and with `to_date` of one argument.
    """
    if word == "trim":
        return tokens[first].text.upper() in _TRIM_SIDES or _ends_with(tokens, first, "FROM")
    return word == "to_date" and not _ends_with(tokens, first, ",")


def _ends_with(tokens: list[Token], first: int, text: str) -> bool:
    """Tests whether the text follows a call's first argument."""
    depth = 0
    for token in tokens[first:]:
        depth += (token.token_type is TokenType.L_PAREN) - (token.token_type is TokenType.R_PAREN)
        if depth < 0 or (not depth and token.text.upper() in (",", "FROM")):
            return token.text.upper() == text
    return False


def _only(trees: list[exp.Expression | None]) -> exp.Expression:
    """Returns the only tree; ParseError if there are others, or none."""
    if len(trees) != 1 or trees[0] is None:
        raise ParseError("It isn't one statement.")
    return trees[0]


def _check_conserved(tree: exp.Expression, tokens: list[Token]) -> None:
    """Raises UnsureError if the tree lacks what the text has, or has it elsewhere.

    Writes the tree back, which changes it. Parsing another one is faster than a copy, and a text
    that is refused needs no other.
    """
    missing = lost(tokens, tokens_of(tree.sql("spark", copy=False, comments=False), "spark"))
    if missing is not None:
        raise UnsureError(f"The parser reads it otherwise than it's written, at: {missing[:40]}")


def _has_words(pattern: re.Pattern[str], sql: str, dialect: str) -> bool:
    """Returns whether the pattern matches outside of constant texts."""
    if not pattern.search(sql):
        return False
    tokens = tokens_of(sql, dialect)
    found = " ".join(one.text for one in tokens if one.token_type is not TokenType.STRING)
    return pattern.search(found) is not None


def unparsed(error: SqlglotError, otherwise: str = "parse_failed") -> Declined:
    """Returns the reason of an error of `parse`; `otherwise` is its code within the bounds."""
    code = CODE if isinstance(error, TooDeepError) else otherwise
    return Declined(code, _CLASSES.sub("an expression lacks", str(error).splitlines()[0]))


class UnsureError(ParseError):
    """A text that the parser may read, but otherwise than Spark."""


def check_text(sql: str, dialect: str = "spark") -> None:
    """UnsureError for what Spark reads otherwise, TooDeepError for what is too long for tokens.

    A pattern takes a while; most texts lack a word of it.
    """
    check_length(sql)
    if "|>" in sql:
        raise UnsureError("The parser takes what stands behind |> for clauses of the query before.")
    lower = sql.lower()
    if "${" in sql:
        raise UnsureError("Spark puts a setting's value in place of ${…}, also inside quotes.")
    if ("convert" in lower or "safe_cast" in lower) and _UNKNOWN.search(sql):
        raise UnsureError("To Spark CONVERT and SAFE_CAST are no casts.")
    if "zone" in lower and _has_words(_ZONELESS if dialect == "trino" else _ZONED, sql, dialect):
        raise UnsureError("The parser takes TIMESTAMP WITHOUT TIME ZONE for an instant.")
    if any(word in lower for word in _TESTS) and _TESTED.search(sql):
        raise UnsureError("Spark takes no operator behind IS NULL without parentheses.")
    if "\\" in sql and "--" in sql and _is_continued(sql):
        raise UnsureError("To Spark a comment that ends with a backslash goes on in the next line.")


def _is_continued(sql: str) -> bool:
    """Tests whether a line with `--` ends with a backslash; each line is looked at once."""
    for end in _CONTINUED.finditer(sql):
        start = max(sql.rfind("\n", 0, end.start()), sql.rfind("\r", 0, end.start()))
        if sql.find("--", start + 1, end.start()) >= 0:
            return True
    return False


def written_name(node: exp.Expression) -> str | None:
    """The function's name as it was written, in lower case; None where the tree doesn't tell."""
    if isinstance(node, exp.Anonymous):
        return str(node.name).lower()
    if isinstance(node, exp.Any):
        return "any"
    name = node.meta_get("written")
    return str(name) if name else None
