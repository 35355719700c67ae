"""Statements in words that are nearly ours, or another system's, and what to write instead.

Spark refuses each of them, too: as a fault of syntax, or CREATE INDEX for any table of Iceberg. A
table of another source may have indexes in Spark, so that its statement is left to Spark.
"""

from __future__ import annotations

from accelerator.query.statements.catalog import EXAMPLES
from rewrite.analysis.syntax_errors import PARSE_SYNTAX_ERROR, Fault
from rewrite.analysis.unknown_names import COLUMN, TABLE, CatalogTables
from rewrite.identifiers.qualified_name import joined
from rewrite.text.printable import one_line
from rewrite.text.source_position import place_of
from rewrite.text.spark_lexer import Token, name_at, scanned
from rewrite.text.suggestions import closest

_NO_INDEX = "_LEGACY_ERROR_TEMP_1332"
_NO_PATH = "_LEGACY_ERROR_TEMP_0064"
_NO_STATEMENT = "INVALID_STATEMENT_OR_CLAUSE"
_NO_VIEW = "UNSUPPORTED_FEATURE.CREATE_PIPELINE_DATASET_QUERY_EXECUTION"
_VIEWS = "a cube serves as a materialized view"
_KINDS = (
    "BLOOM for keys, RANGE or BITMAP for numbers and few values, BOUNDS for doubles,"
    " TOKEN_BLOOM or NGRAM_BLOOM for texts"
)
_INSTEAD: dict[tuple[str, ...], tuple[str, str]] = {
    ("ALTER", "MATERIALIZED", "VIEW"): (_VIEWS, EXAMPLES["ALTER CUBE"]),
    ("CREATE", "MATERIALIZED", "VIEW"): (_VIEWS, EXAMPLES["CREATE CUBE"]),
    ("CREATE", "OR", "REPLACE", "MATERIALIZED", "VIEW"): (_VIEWS, EXAMPLES["CREATE CUBE"]),
    ("CREATE", "UNIQUE", "INDEX"): ("no index is unique", EXAMPLES["CREATE INDEX"]),
    ("DROP", "MATERIALIZED", "VIEW"): (_VIEWS, EXAMPLES["DROP CUBE"]),
    ("EXPLAIN", "WHYNOT"): ("WHY NOT is two words", EXAMPLES["EXPLAIN WHY NOT"]),
    ("REBUILD", "CUBE"): ("BUILD builds what lacks", EXAMPLES["BUILD CUBE"]),
    ("REBUILD", "INDEX"): ("BUILD builds what lacks", EXAMPLES["BUILD INDEX"]),
    ("REFRESH", "CUBE"): ("BUILD builds what lacks", EXAMPLES["BUILD CUBE"]),
    ("REFRESH", "INDEX"): ("BUILD builds what lacks", EXAMPLES["BUILD INDEX"]),
    ("REFRESH", "MATERIALIZED", "VIEW"): (_VIEWS, EXAMPLES["BUILD CUBE"]),
    ("SHOW", "CUBE"): ("the list is SHOW CUBES", EXAMPLES["SHOW CUBES"]),
    ("SHOW", "INDEX"): ("the list is SHOW INDEXES", EXAMPLES["SHOW INDEXES"]),
    ("SHOW", "MATERIALIZED", "VIEW"): (_VIEWS, EXAMPLES["SHOW CUBES"]),
    ("SHOW", "MATERIALIZED", "VIEWS"): (_VIEWS, EXAMPLES["SHOW CUBES"]),
    ("SHOW", "QUERY"): ("the list is SHOW QUERIES", EXAMPLES["SHOW QUERIES"]),
    ("SHOW", "REFLECTIONS"): (_VIEWS, EXAMPLES["SHOW CUBES"]),
    ("WHY", "NOT"): ("EXPLAIN lacks", EXAMPLES["EXPLAIN WHY NOT"]),
}


def nearly_ours(sql: str, tables: CatalogTables) -> Fault | None:
    """The fault of a statement that means one of ours; its hint has the statement to write.

    >>> nearly_ours("SHOW MATERIALIZED VIEWS", None).hint
    'for example: SHOW CUBES ON orders'
    """
    tokens = scanned(sql)
    if not tokens:
        return None
    keys = tuple(one.key for one in tokens)
    for words, (why, example) in _INSTEAD.items():
        if keys[: len(words)] == words:
            if words[0] == "REFRESH" and len(tokens) < len(words) + 1:
                return None  # a path of that name
            at = place_of(sql, tokens[0].start, tokens[len(words) - 1].end)
            message = f"there is no statement {' '.join(words)}: {why}"
            error = _NO_PATH if words[0] == "REFRESH" else PARSE_SYNTAX_ERROR
            error = _NO_VIEW if words == ("CREATE", "MATERIALIZED", "VIEW") else error
            return Fault(message, at, (), error, f"for example: {example}")
    replaces = keys[:3] == ("CREATE", "OR", "REPLACE")
    if keys[:2] == ("CREATE", "INDEX") or (replaces and keys[3:4] == ("INDEX",)):
        return _create_index(sql, tokens, 4 if replaces else 2, tables)
    if keys[:2] == ("DROP", "INDEX"):
        return _drop_index(sql, tokens, tables)
    named = keys[:2] in (("DESCRIBE", "CUBE"), ("DESC", "CUBE"), ("DESCRIBE", "INDEX"))
    if named and len(tokens) == 3 and tables.is_absent((keys[1],)):
        kind = keys[1].lower()
        shown = "SHOW CUBES" if kind == "cube" else "SHOW INDEXES"
        at = place_of(sql, tokens[0].start, tokens[1].end)
        hint = f"for example: {EXAMPLES[shown]}"
        return Fault(f"no {kind} is described", at, (), TABLE, hint)
    if keys[:2] == ("SHOW", "CREATE") and keys[2:3] in (("CUBE",), ("INDEX",)):
        shown = "SHOW CUBES" if keys[2] == "CUBE" else "SHOW INDEXES"
        at = place_of(sql, tokens[0].start, tokens[2].end)
        hint = f"for example: {EXAMPLES[shown]}"
        message = f"there is no statement SHOW CREATE {keys[2]}: {shown} has its definition"
        return Fault(message, at, (), PARSE_SYNTAX_ERROR, hint)
    if keys[:2] == ("EXPLAIN", "ANALYZE") and "TABLE" not in keys and "TABLES" not in keys:
        at = place_of(sql, tokens[1].start, tokens[-1].end)
        hint = f"for example: {EXAMPLES['EXPLAIN ANALYZE']}"
        return Fault("EXPLAIN ANALYZE runs queries alone", at, (), PARSE_SYNTAX_ERROR, hint)
    return None


def _create_index(sql: str, tokens: list[Token], at: int, tables: CatalogTables) -> Fault | None:
    """CREATE INDEX without one of our kinds, over a table of Iceberg."""
    example = f"for example: {EXAMPLES['CREATE INDEX']}"
    keys = [one.key for one in tokens]
    if keys[at : at + 3] == ["IF", "NOT", "EXISTS"]:
        at += 3
    if keys[at : at + 1] == ["ON"] and at + 1 < len(tokens) and tokens[at + 1].is_name:
        place = place_of(sql, tokens[at].start, tokens[at].end)
        return Fault("the index has no name", place, (), _NO_STATEMENT, example)
    whole = keys[at + 1 : at + 2] == ["ON"] and "(" in keys[at + 2 :]
    if not whole and keys[:2] == ["CREATE", "INDEX"]:
        place = place_of(sql, tokens[0].start, tokens[-1].end)
        message = "CREATE INDEX needs a name, ON and a table, USING and a kind, and a column"
        return Fault(message, place, (), _NO_STATEMENT, example)
    if not whole:
        return None
    parts, end = name_at(sql, tokens, at + 2)
    known = tables.find(parts) if parts else None
    if known is None:
        return None
    columns = {name.lower() for name in known.columns}
    opened = keys.index("(", end) if "(" in keys[end:] else len(keys)
    closed = keys.index(")", opened) if ")" in keys[opened:] else len(keys)
    for token in tokens[opened + 1 : closed]:
        name = sql[token.start : token.end].strip("`")
        if token.is_name and name.lower() not in columns:
            near = closest(name, known.columns)
            message = f"{joined(parts)} has no column {one_line(name)}"
            place = place_of(sql, token.start, token.end)
            return Fault(message, place, near, COLUMN, "DESCRIBE the table lists its columns")
        if name.lower() not in columns and token.key != ",":
            return None
    if "USING" not in keys[end:]:
        place = place_of(sql, tokens[at].start, tokens[end - 1].end)
        message = "CREATE INDEX lacks USING and the kind of index"
    else:
        using = keys.index("USING", end) + 1
        if using >= len(tokens):
            return None
        kind = sql[tokens[using].start : tokens[using].end]
        place = place_of(sql, tokens[using].start, tokens[using].end)
        message = f"{kind} is no kind of index for {joined(parts)}"
    error = PARSE_SYNTAX_ERROR if at > 2 and keys[1] == "OR" else _NO_INDEX
    return Fault(message, place, (), error, f"take {_KINDS}; {example}")


def _drop_index(sql: str, tokens: list[Token], tables: CatalogTables) -> Fault | None:
    """DROP INDEX with a table behind its name, or without a name."""
    hint = f"an index's name is enough, for example: {EXAMPLES['DROP INDEX']}"
    keys = [one.key for one in tokens if one.key != ";"]
    at = 4 if keys[2:4] == ["IF", "EXISTS"] else 2
    if len(keys) <= at:
        place = place_of(sql, tokens[0].start, tokens[-1].end)
        return Fault("DROP INDEX lacks the index's name", place, (), _NO_STATEMENT, hint)
    if keys[at + 1 : at + 2] != ["ON"]:
        return None
    parts, end = name_at(sql, tokens, at + 2)
    if not parts or end != len(keys) or tables.find(parts) is None:
        return None
    place = place_of(sql, tokens[at + 1].start, tokens[end - 1].end)
    return Fault("DROP INDEX takes no table", place, (), _NO_INDEX, hint)
