"""A tree as Spark SQL, with each WITH where the tree has it.

sqlglot writes those of inner queries at the top, where their names hide tables of the same names,
or meet others. It leaves them where they are in what isn't a whole statement.
"""

from __future__ import annotations

from sqlglot import ErrorLevel, exp

from rewrite.identifiers.quoting import unexpanded

_DIALECT = "spark"


def spark_text(tree: exp.Expr) -> str:
    """The text, without comments and `${…}`. `tree` is changed, and has no parent.

    UnsupportedError for what Spark lacks, StatementError for a name with `${`.

    >>> import sqlglot
    >>> inner = "SELECT b FROM (WITH t AS (SELECT 2 AS b) SELECT b FROM t) AS x CROSS JOIN t"
    >>> spark_text(sqlglot.parse_one(inner, read="spark"))
    'SELECT b FROM (WITH t AS (SELECT 2 AS b) SELECT b FROM t) AS x CROSS JOIN t'
    """
    part = exp.Paren(this=tree)
    text = part.sql(
        dialect=_DIALECT, unsupported_level=ErrorLevel.RAISE, comments=False, copy=False
    )
    return unexpanded(text.removeprefix("(").removesuffix(")"))
