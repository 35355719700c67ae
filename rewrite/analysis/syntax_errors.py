"""What is surely wrong in a statement's syntax, found without Spark: a fault, its place, what fits.

Spark's own parser isn't here, so that a fault is claimed only where its grammar leaves no way out:
- a quote or comment has no end, a parenthesis no partner;
- a word stands where the grammar has only words of its own: in front of a statement, or behind
  CREATE, INSERT and the like. A word that its lexer has no token for is none of these;
- a second statement follows a query;
- a statement ends behind a word that the grammar always follows, as SHOW COLUMNS IN;
- a statement that is no query stands in parentheses;
- an operand lacks behind a sign, or END behind CASE WHEN;
- in a query, a third name follows two: `a FORM t`. A name may have an alias behind it, of one name;
  nothing in the grammar of queries has three identifiers in a row, an identifier before a whole
  number, or two behind a literal. LATERAL VIEW alone has two behind a parenthesis.

A keyword that its grammar follows with keywords only is an identifier where another stands behind
it, as ORDER in `t ORDER BT a`; so is BY behind one that goes with no BY. Promise: what Spark's
parser takes has no fault here.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import dropwhile, pairwise

from msgspec import Struct

from rewrite.text.source_position import SourcePosition, place_of
from rewrite.text.spark_keywords import in_order, words
from rewrite.text.spark_lexer import Token, name_at, scanned, unpaired
from rewrite.text.suggestions import closest, closest_of

_QUERIES = ("SELECT", "WITH", "FROM")
_BEFORE_QUERY = frozenset(("(", "EXPLAIN", "EXTENDED", "FORMATTED", "COST", "CODEGEN", "LOGICAL"))
_LEXED = words("""
    ALTER ANALYZE CALL CREATE DELETE DESC DESCRIBE DROP EXPLAIN FROM INSERT MERGE SELECT SHOW
    TABLE TRUNCATE UPDATE VALUES WITH
""")
"""Statements all of whose words are read by the grammar; SET and ADD take whatever follows."""
_ICEBERGS = ("ALTER", "CALL")
"""Most of these are read by Iceberg's parser, whose errors have no class."""
_STARTS = in_order("""
    ALTER ANALYZE CACHE CALL COMMENT CREATE DECLARE DELETE DESCRIBE DROP EXECUTE EXPLAIN FROM
    INSERT LOAD MERGE REFRESH RESET SELECT SET SHOW TABLE TRUNCATE UNCACHE UPDATE USE VALUES WITH
""")
_BEHIND: dict[str, tuple[str, ...]] = {
    "ALTER": ("TABLE", "VIEW", "SCHEMA", "DATABASE", "NAMESPACE"),
    "CREATE": ("TABLE", "VIEW", "SCHEMA", "DATABASE", "NAMESPACE", "FUNCTION", "TEMPORARY"),
    "DELETE": ("FROM",),
    "DROP": ("TABLE", "VIEW", "SCHEMA", "DATABASE", "NAMESPACE", "FUNCTION"),
    "EXPLAIN": ("EXTENDED", "FORMATTED", "COST", "CODEGEN", *_STARTS),
    "INSERT": ("INTO", "OVERWRITE"),
    "MERGE": ("INTO",),
    "SHOW": in_order("""
        CATALOGS COLUMNS CREATE DATABASES FUNCTIONS NAMESPACES PARTITIONS SCHEMAS TABLES
        TBLPROPERTIES VIEWS
    """),
    "TRUNCATE": ("TABLE",),
}
"""Statements whose second word is one of the grammar's own, and those that are used."""
_CLAUSES = in_order("""
    AND AS ASC BETWEEN BY CROSS DESC EXCEPT FROM FULL GROUP HAVING IN INNER INTERSECT IS JOIN
    LEFT LIKE LIMIT NOT OFFSET ON OR ORDER OUTER RIGHT UNION USING WHERE WINDOW WITH
""")
_WITH_BY = frozenset(("CLUSTER", "CLUSTERED", "DEFINED", "DISTRIBUTE", "ESCAPED", "GROUP", "ORDER"))
_WITH_BY |= frozenset(("PARTITION", "PARTITIONED", "SKEWED", "SORT", "SORTED", "TERMINATED"))
_BEFORE_KEYWORDS = frozenset(("CROSS", "DISTRIBUTE", "FULL", "GROUP", "INNER", "LEFT", "NATURAL"))
_BEFORE_KEYWORDS |= frozenset(("ORDER", "RIGHT", "SORT"))
"""Before a mere identifier these are no keywords."""
_LETTERS_MIN = 3
"""Of a word that may be a misspelt keyword: shorter ones are near to many."""
_SHOWN = 60
_CHANGES = frozenset(("DELETE", "INSERT", "MERGE", "UPDATE"))
_ONE_STATEMENT = frozenset((*_QUERIES, "(", "DELETE", "DESCRIBE", "DROP", "INSERT", "MERGE"))
_ONE_STATEMENT |= frozenset(("SHOW", "UPDATE", "USE", "VALUES"))
"""First words of statements that have no semicolons inside."""
_BEFORE_OPERANDS = frozenset((",", "=", "+", "-", "/", "%", "<"))
"""Signs that are never the last ones of an expression."""
PARSE_SYNTAX_ERROR = "PARSE_SYNTAX_ERROR"
_EMPTY = "PARSE_EMPTY_STATEMENT"
_INVALID = "INVALID_STATEMENT_OR_CLAUSE"
_NO_PATH = "_LEGACY_ERROR_TEMP_0064"
_INSIDE = ("FROM", "IN")
_LISTED = ("DATABASES", "NAMESPACES", "SCHEMAS", "TABLES", "VIEWS")
_CONDITIONS = ("HAVING", "ON", "WHERE")
_BEHIND_CONDITIONS = frozenset(("CROSS", "EXCEPT", "FULL", "GROUP", "INNER", "INTERSECT", "JOIN"))
_BEHIND_CONDITIONS |= frozenset(("LATERAL", "LEFT", "LIMIT", "ORDER", "RIGHT", "UNION", "WINDOW"))
_PATTERNS = ("ILIKE", "LIKE", "REGEXP", "RLIKE")
_INFIX = frozenset((*_PATTERNS, "AND", "BETWEEN", "ESCAPE", "IN", "IS", "NOT", "OR"))
"""Words of conditions that always have something behind them."""
_INCOMPLETE: dict[tuple[str, ...], str] = {
    ("ALTER",): "ALTER TABLE shop.sales ADD COLUMN note STRING",
    ("CACHE",): "CACHE TABLE shop.sales",
    ("CALL",): "CALL lake.system.rewrite_data_files('shop.sales')",
    ("CREATE",): "CREATE TABLE shop.sales (store INT, amount BIGINT)",
    ("DELETE",): "DELETE FROM shop.sales WHERE amount = 0",
    ("DESC",): "DESCRIBE shop.sales",
    ("DESCRIBE",): "DESCRIBE shop.sales",
    ("DROP",): "DROP TABLE shop.sales",
    ("EXPLAIN",): "EXPLAIN SELECT store FROM shop.sales",
    ("EXPLAIN", "CODEGEN"): "EXPLAIN CODEGEN SELECT store FROM shop.sales",
    ("EXPLAIN", "COST"): "EXPLAIN COST SELECT store FROM shop.sales",
    ("EXPLAIN", "EXTENDED"): "EXPLAIN EXTENDED SELECT store FROM shop.sales",
    ("EXPLAIN", "FORMATTED"): "EXPLAIN FORMATTED SELECT store FROM shop.sales",
    ("FROM",): "FROM shop.sales SELECT store",
    ("INSERT",): "INSERT INTO shop.sales VALUES (1, 5)",
    ("MERGE",): "MERGE INTO shop.sales USING …",
    ("REFRESH",): "REFRESH TABLE shop.sales",
    ("SELECT",): "SELECT store FROM shop.sales",
    ("SHOW",): "SHOW TABLES IN shop, or SHOW CUBES",
    ("SHOW", "CATALOGS", "LIKE"): "SHOW CATALOGS LIKE 'l*'",
    ("SHOW", "COLUMNS"): "SHOW COLUMNS IN shop.sales",
    ("SHOW", "COLUMNS", "FROM"): "SHOW COLUMNS FROM shop.sales",
    ("SHOW", "COLUMNS", "IN"): "SHOW COLUMNS IN shop.sales",
    ("SHOW", "CREATE"): "SHOW CREATE TABLE shop.sales",
    ("SHOW", "CREATE", "TABLE"): "SHOW CREATE TABLE shop.sales",
    ("SHOW", "CURRENT"): "SHOW CURRENT NAMESPACE",
    ("SHOW", "PARTITIONS"): "SHOW PARTITIONS shop.sales",
    ("SHOW", "TABLE"): "SHOW TABLES IN shop",
    ("SHOW", "TABLE", "EXTENDED"): "SHOW TABLE EXTENDED IN shop LIKE 's*'",
    ("SHOW", "TBLPROPERTIES"): "SHOW TBLPROPERTIES shop.sales",
    **{("SHOW", one, "FROM"): f"SHOW {one} FROM shop" for one in _LISTED},
    **{("SHOW", one, "IN"): f"SHOW {one} IN shop" for one in _LISTED},
    **{("SHOW", one, "LIKE"): f"SHOW {one} LIKE 's*'" for one in _LISTED},
    ("TABLE",): "TABLE shop.sales",
    ("TRUNCATE",): "TRUNCATE TABLE shop.sales",
    ("UNCACHE",): "UNCACHE TABLE shop.sales",
    ("UPDATE",): "UPDATE shop.sales SET amount = 0",
    ("USE",): "USE shop",
    ("VALUES",): "VALUES (1, 2)",
    ("WITH",): "WITH s AS (SELECT store FROM shop.sales) SELECT store FROM s",
}
"""Texts behind which Spark's grammar always has a word, and an example of what to write."""
_NO_QUERIES = (_LEXED - frozenset((*_QUERIES, "TABLE", "VALUES"))) | words("SET USE")
"""First words of statements that aren't queries, so that no parentheses are around them."""


class Fault(Struct, frozen=True):
    """What is wrong in a sentence, where, under which of Spark's classes, and what was meant."""

    message: str
    at: SourcePosition | None
    suggestions: tuple[str, ...] = ()
    error_class: str = PARSE_SYNTAX_ERROR
    hint: str = ""


def syntax_fault(sql: str, ours: Sequence[str] = (), behind: Sequence[str] = ()) -> Fault | None:
    """The first fault that is surely one to Spark; None where nothing is sure.

    `ours` are words that begin statements of others than Spark, `behind` pairs of first words.

    >>> syntax_fault("SELECT a FORM t").suggestions
    ('FROM',)
    >>> syntax_fault("SELECT a FORM")
    """
    tokens = scanned(sql)
    if tokens is not None and all(one.key == ";" for one in tokens):
        error = PARSE_SYNTAX_ERROR if sql.strip() else _EMPTY
        return Fault("there is no statement", None, (), error, "write one, for example: SELECT 1")
    if not tokens or tokens[0].key == "BEGIN":
        return None
    first = tokens[0]
    if first.kind == "plain":
        return _unknown_start(sql, tokens, ours)
    incomplete = _incomplete(sql, tokens) or _in_parentheses(sql, tokens)
    if incomplete is not None:
        return incomplete
    if first.key == "USE":
        second = any(one.key == ";" for one in tokens[:-1])
        return _second_statement(sql, tokens) if second else _behind_name(sql, tokens)
    if first.key not in _LEXED and first.key != "(":
        return None
    if first.key == "EXPLAIN" and any(one.key in ("RESET", "SET") for one in tokens[1:3]):
        return None  # behind which Spark takes any text
    if any(one.key == ";" for one in tokens[:-1]):
        return _second_statement(sql, tokens)
    if first.key in _ICEBERGS:
        return _unknown_second(sql, tokens, behind)
    return (
        _unclosed(sql, tokens)
        or _unpaired(sql, tokens)
        or _without_in(sql, tokens)
        or _behind_name(sql, tokens)
        or _unknown_second(sql, tokens, behind)
        or _lacking(sql, tokens)
        or _unknown_clause(sql, tokens)
    )


def _unknown_start(sql: str, tokens: Sequence[Token], ours: Sequence[str]) -> Fault | None:
    first = tokens[0]
    if first.key in ours or (len(tokens) > 1 and tokens[1].key == ":"):  # a label of a script
        return None
    near = closest(first.key, (*_STARTS, *ours))
    word = sql[first.start : first.end]
    at = place_of(sql, first.start, first.end)
    return Fault(f"no statement begins with {word[:_SHOWN]}", at, near)


def _incomplete(sql: str, tokens: Sequence[Token]) -> Fault | None:
    """A statement that ends too early: SHOW alone, SHOW COLUMNS IN."""
    written = [one for one in tokens if one.key != ";"]
    keys = tuple(one.key for one in written)
    example = _INCOMPLETE.get(keys)
    if example is None:
        return None
    shown = " ".join(keys)
    error = _INVALID if keys == ("SHOW", "CREATE", "TABLE") else PARSE_SYNTAX_ERROR
    error = _NO_PATH if keys == ("REFRESH",) else error
    at = place_of(sql, written[0].start, written[-1].end)
    message = f"the statement ends behind {shown}"
    return Fault(message, at, (), error, f"for example: {example}")


def _in_parentheses(sql: str, tokens: Sequence[Token]) -> Fault | None:
    """A statement in parentheses that is no query."""
    word = next((one for one in tokens if one.key != "("), None)
    if tokens[0].key != "(" or word is None or word.key not in _NO_QUERIES:
        return None
    at = place_of(sql, word.start, word.end)
    hint = f"write {word.key} without parentheses around it"
    return Fault("only a query can be in parentheses", at, (), hint=hint)


def _without_in(sql: str, tokens: Sequence[Token]) -> Fault | None:
    """A namespace or table behind SHOW TABLES or SHOW COLUMNS, without IN."""
    keys = [one.key for one in tokens[:2]]
    listed = len(tokens) > 2 and keys[0] == "SHOW" and keys[1] in (*_LISTED, "COLUMNS")
    if not listed or not tokens[2].is_name:
        return None
    name = sql[tokens[2].start : tokens[-1].end][:_SHOWN].rstrip("; ")
    at = place_of(sql, tokens[2].start, tokens[2].end)
    what = "a table" if keys[1] == "COLUMNS" else "a namespace"
    message = f"IN lacks between SHOW {keys[1]} and the name of {what}"
    return Fault(message, at, (), hint=f"write SHOW {keys[1]} IN {name}")


def _behind_name(sql: str, tokens: list[Token]) -> Fault | None:
    """A name behind the one with which SHOW TABLES IN, or USE, ends."""
    keys = [one.key for one in tokens[:3]]
    shows = len(keys) > 2 and keys[0] == "SHOW" and keys[1] in _LISTED and keys[2] in _INSIDE
    if not shows and keys[0] != "USE":
        return None
    parts, end = name_at(sql, tokens, 3 if shows else 1)
    if not parts or end >= len(tokens) or not tokens[end].is_name:
        return None
    at = place_of(sql, tokens[end].start, tokens[end].end)
    word = sql[tokens[end].start : tokens[end].end][:_SHOWN]
    return Fault(f"the statement can't go on with {word}", at, (), hint="end the statement here")


def _unclosed(sql: str, tokens: Sequence[Token]) -> Fault | None:
    last = tokens[-1]
    if last.kind != "unclosed":
        return None
    at = place_of(sql, last.start, last.end)
    if last.key == "/*":
        return Fault("a comment isn't closed", at, error_class="UNCLOSED_BRACKETED_COMMENT")
    what = "a name in backticks" if last.key == "`" else "a text in quotes"
    return Fault(f"{what} isn't closed", at)


def _second_statement(sql: str, tokens: Sequence[Token]) -> Fault | None:
    """The statement behind a query's semicolon; other statements may have semicolons inside."""
    explained = next(dropwhile(lambda one: one.key in _BEFORE_QUERY, tokens), tokens[0])
    first = explained.key if explained.key in _QUERIES else tokens[0].key
    if first not in _ONE_STATEMENT:
        return None
    end = next(place for place, one in enumerate(tokens) if one.key == ";")
    second = next((one for one in tokens[end:] if one.key != ";"), None)
    if second is None:
        return None
    at = place_of(sql, second.start, second.end)
    return Fault("a second statement begins", at, hint="give one statement at a time")


def _lacking(sql: str, tokens: Sequence[Token]) -> Fault | None:
    """An operand of a query that lacks behind a sign; END that lacks behind CASE WHEN."""
    if tokens[0].key not in (*_QUERIES, "(") or _piped(tokens):
        return None
    tokens = tokens[:-1] if tokens[-1].key == ";" else tokens
    for before, token in pairwise(tokens):
        apart = before.end < token.start
        if (before.key in _BEFORE_OPERANDS and token.key in (",", ")")) or (
            before.key in ("=", "/", "%") and token.key in ("=", "/", "%") and apart
        ):
            at = place_of(sql, token.start, token.end)
            return Fault(f"an expression lacks before {token.key}", at)
    for place, token in enumerate(tokens[:-3]):
        keys = [one.key for one in tokens[place + 1 : place + 4]]
        if token.key in (",", "SELECT") and keys[0] == "FROM" and keys[2] == ".":
            at = place_of(sql, token.start, token.end)
            return Fault(f"a column lacks between {token.key} and FROM", at)
    foreign = _foreign(sql, tokens) or _cut_short(sql, tokens)
    if foreign is not None:
        return foreign
    last = tokens[-1]
    ends = [one.key for one in tokens[-2:]] in (["GROUP", "BY"], ["ORDER", "BY"])
    if ends and len(tokens) > 3 and (tokens[-3].is_name or tokens[-3].key == ")"):
        at = place_of(sql, tokens[-2].start, last.end)
        return Fault(f"the query ends behind {tokens[-2].key} BY, where a column lacks", at)
    if last.key in _BEFORE_OPERANDS:
        at = place_of(sql, last.start, last.end)
        return Fault(f"the query ends behind {last.key}, where an expression lacks", at)
    if not any(one.key == "END" for one in tokens):
        for case, when, behind in zip(tokens, tokens[1:], tokens[2:], strict=False):
            operand = behind.is_name or behind.kind in ("number", "string")
            if (case.key, when.key) == ("CASE", "WHEN") and operand:
                return Fault("CASE lacks its END", place_of(sql, case.start, case.end))
    return None


def _cut_short(sql: str, tokens: Sequence[Token]) -> Fault | None:
    """A condition of WHERE, HAVING or ON that ends behind LIKE, AND and the like."""
    inside = [False]
    for place, token in enumerate(tokens):
        if token.key == "(":
            inside.append(False)
        elif token.key == ")" and len(inside) > 1:
            inside.pop()
        elif token.key in _CONDITIONS or token.key in _LEXED or token.key in _BEHIND_CONDITIONS:
            inside[-1] = token.key in _CONDITIONS
        if not inside[-1] or token.key not in _INFIX or not _ended(tokens, place + 1):
            continue
        before = next(one for one in reversed(tokens[:place]) if one.key not in ("IS", "NOT"))
        if not (before.is_name or before.kind in ("number", "string") or before.key == ")"):
            continue
        pattern = token.key in _PATTERNS
        at = place_of(sql, token.start, token.end)
        what, example = ("a pattern", "LIKE 'a%'") if pattern else ("an expression", "")
        hint = f"write one in quotes, for example {example}" if pattern else ""
        return Fault(f"{what} lacks behind {token.key}", at, hint=hint)
    return None


def _ended(tokens: Sequence[Token], place: int) -> bool:
    """Decides if the condition surely ends there: with the text or parentheses, before ORDER BY."""
    keys = [one.key for one in tokens[place : place + 2]]
    if not keys or keys[0] == ")":
        return True
    number = len(keys) > 1 and tokens[place + 1].kind == "number"
    return keys in (["GROUP", "BY"], ["ORDER", "BY"]) or (keys[0] == "LIMIT" and number)


def _foreign(sql: str, tokens: Sequence[Token]) -> Fault | None:
    """Clauses of other systems: TOP 5, LIMIT 5, 10, names in brackets."""
    for place, (before, token) in enumerate(pairwise(tokens), start=1):
        behind = tokens[place + 1] if place + 1 < len(tokens) else None
        at = place_of(sql, token.start, token.end)
        if before.key == "SELECT" and token.key == "[":
            return Fault("a column's name is in brackets", at, hint="write it in backticks: `x`")
        if behind is None or behind.kind != "number":
            continue
        number = sql[behind.start : behind.end]
        if before.key == "SELECT" and token.key == "TOP" and behind.start > token.end:
            return Fault("SELECT has no TOP", at, hint=f"end the query with LIMIT {number}")
        comma = tokens[place + 2].key == "," if place + 2 < len(tokens) else False
        if token.key == "LIMIT" and comma and (before.is_name or before.key == ")"):
            hint = f"write LIMIT rows OFFSET {number}"
            return Fault("LIMIT has one number", at, hint=hint)
    return None


def _unpaired(sql: str, tokens: Sequence[Token]) -> Fault | None:
    """A parenthesis without a partner; brackets aren't counted."""
    found = unpaired(one.key for one in tokens)
    if found is None:
        return None
    place, message = found
    return Fault(message, place_of(sql, tokens[place].start, tokens[place].end))


def _unknown_second(sql: str, tokens: Sequence[Token], behind: Sequence[str]) -> Fault | None:
    """An identifier where a statement's second word is to be one of the grammar's."""
    first, place = tokens[0].key, 1
    known = _BEHIND.get(first)
    if known is None:
        return None
    if first == "CREATE" and [one.key for one in tokens[1:3]] == ["OR", "REPLACE"]:
        place = 3
    if place >= len(tokens) or tokens[place].kind != "plain":
        return None
    if first == "SHOW" and len(tokens) > 2 and tokens[2].key == "FUNCTIONS":
        return None  # SHOW USER FUNCTIONS, and whatever word
    word = tokens[place]
    others = [one.split(" ", 1)[1] for one in behind if one.startswith(f"{first} ")]
    pairs = [(one.split(" ", 1)[0], f"{first} {one}") for one in (*known, *others)]
    near = closest_of(word.key, pairs)
    at = place_of(sql, word.start, word.end)
    return Fault(f"{first} isn't followed by {sql[word.start : word.end][:_SHOWN]}", at, near)


def _unknown_clause(sql: str, tokens: Sequence[Token]) -> Fault | None:
    """Identifiers of a query in a row where the grammar has one or two at most."""
    keys = {one.key for one in tokens}
    tokens = [*dropwhile(lambda one: one.key in _BEFORE_QUERY, tokens)]
    first = tokens[0].key if tokens else ""
    if first not in _QUERIES or keys & _CHANGES or _piped(tokens):
        return None
    bare = _without_hints(tokens)
    names = _names(bare)
    for place in range(1, len(bare)):
        run = _run(bare, names, place, "LATERAL" in keys)
        if run:
            return _misspelt(sql, run)
    return None


def _piped(tokens: Sequence[Token]) -> bool:
    """Whether there is `|>`, behind which another grammar begins."""
    return any(a.key == "|" and b.key == ">" and a.end == b.start for a, b in pairwise(tokens))


def _without_hints(tokens: Sequence[Token]) -> list[Token]:
    """Names may stand in a row in hints."""
    found: list[Token] = []
    inside = False
    for token in tokens:
        inside = inside or token.key == "/*+"
        if not inside:
            found.append(token)
        inside = inside and token.key != "*/"
    return found


def _names(tokens: Sequence[Token]) -> list[bool]:
    """Which of the tokens can be nothing but identifiers."""
    names = [one.is_name for one in tokens]
    for place, token in enumerate(tokens):
        after = place + 1 < len(tokens) and tokens[place + 1].is_name
        if token.key in _BEFORE_KEYWORDS and token.kind == "keyword" and after:
            names[place] = not (place and tokens[place - 1].key == ".")
        if token.key == "BY" and place and tokens[place - 1].is_name and after:
            names[place] = True
    return names


def _run(
    tokens: Sequence[Token], names: Sequence[bool], place: int, lateral: bool
) -> Sequence[Token]:
    """The identifiers from that place on, if what stands before makes them one too many."""
    if not names[place] or _is_part(tokens, place):
        return ()
    end = place
    while end < len(tokens) and names[end] and not _is_part(tokens, end):
        end += 1
    before, behind = tokens[place - 1], tokens[end] if end < len(tokens) else None
    operand = (
        names[place - 1]
        or before.kind in ("string", "number")
        or (before.key == ")" and not lateral)
        or _is_star(tokens, place - 1)
    )
    if not operand or (place > 1 and tokens[place - 2].key == "INTERVAL"):
        return ()
    if end - place > 1 and not _is_typed(tokens, end):
        return tokens[place:end]
    apart = behind is not None and behind.start > tokens[end - 1].end
    if names[place - 1] and behind is not None and behind.kind == "number" and apart:
        return tokens[place:end]
    return ()


def _is_part(tokens: Sequence[Token], place: int) -> bool:
    """Whether it stands behind a dot."""
    return place > 0 and tokens[place - 1].key == "."


def _is_typed(tokens: Sequence[Token], end: int) -> bool:
    """Whether a text follows, whose type the last identifier may be."""
    return end < len(tokens) and tokens[end].kind == "string"


def _is_star(tokens: Sequence[Token], place: int) -> bool:
    """Whether it's the star of all columns: what is multiplied stands before one."""
    before = tokens[place - 1].key if place else ""
    return tokens[place].key == "*" and before in ("SELECT", ",")


def _misspelt(sql: str, run: Sequence[Token]) -> Fault:
    """The one that is nearest to a clause's word, else the one at which Spark stops."""
    for before, token in zip((None, *run), run, strict=False):
        behind = before is not None and before.key in _WITH_BY
        words = ("BY",) if behind else _CLAUSES
        near = closest(token.key, words) if token.kind == "plain" else ()
        if near and (behind or len(token.key) >= _LETTERS_MIN):
            return _cant_go_on(sql, token, near)
    return _cant_go_on(sql, run[min(1, len(run) - 1)], ())


def _cant_go_on(sql: str, token: Token, near: tuple[str, ...]) -> Fault:
    word = sql[token.start : token.end]
    at = place_of(sql, token.start, token.end)
    return Fault(f"the query can't go on with {word[:_SHOWN]}", at, near)
