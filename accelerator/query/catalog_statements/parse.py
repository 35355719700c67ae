"""Reads a statement about catalogs, tables or the session from its text.

Promise: a text that Spark's parser may read in another way, or refuse, is None: only Spark answers
it. The text's length is bounded before its words are looked at.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from accelerator.query.catalog_statements import nodes
from accelerator.query.catalog_statements.nodes import CatalogStatement, Name
from rewrite.text.spark_lexer import Token, scanned

_CHARACTERS_MAX = 20_000
_NAMESPACE_WORDS = ("DATABASE", "NAMESPACE", "SCHEMA")
_NAMESPACES_WORDS = ("DATABASES", "NAMESPACES", "SCHEMAS")
_QUERY_WORDS = ("SELECT", "WITH", "VALUES", "FROM", "TABLE", "MAP", "REDUCE", "(")
_ASCII_WORD = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_SETTING = re.compile(
    r"\s*SET\s+([A-Za-z_][\w.-]*)\s*(?:=\s*([\w.:/+-]+)\s*)?;*\s*", re.ASCII | re.I
)
_ZONE = re.compile(
    r"""\s*SET\s+TIME\s+ZONE\s+(?:'([\w:/+-]+)'|"([\w:/+-]+)")\s*;*\s*""", re.ASCII | re.I
)
_ZONE_KEY = "spark.sql.session.timeZone"


class _OtherError(Exception):
    """The text isn't one of these statements, or only Spark's parser knows what it is."""


def parse(sql: str) -> CatalogStatement | None:
    """The statement; None for any other text."""
    if len(sql) > _CHARACTERS_MAX:
        return None
    setting = _setting(sql)
    if setting is not None:
        return setting
    tokens = scanned(sql)
    if not tokens or any(one.kind == "unclosed" for one in tokens):
        return None
    while tokens and tokens[-1].key == ";":
        tokens.pop()
    try:
        return _CatalogCursor(sql, tokens).statement()
    except _OtherError:
        return None


def _setting(sql: str) -> nodes.SetKey | None:
    """Reads SET by a grammar of its own: Spark doesn't cut the value behind `=` into words."""
    found = _SETTING.fullmatch(sql)
    if found is not None and found[1].upper() not in ("CATALOG", "ROLE", "VAR", "VARIABLE"):
        return nodes.SetKey(found[1], found[2])
    zone = _ZONE.fullmatch(sql)
    return None if zone is None else nodes.SetKey(_ZONE_KEY, zone[1] or zone[2])


class _CatalogCursor:
    """A cursor over the words of one statement."""

    def __init__(self, sql: str, tokens: list[Token]) -> None:
        self._sql, self._tokens, self._next = sql, tokens, 0

    def statement(self) -> CatalogStatement:
        rule = _RULES.get(self._key())
        if rule is None:
            raise _OtherError
        self._next += 1
        return rule(self)

    def _key(self, ahead: int = 0) -> str:
        at = self._next + ahead
        return self._tokens[at].key if at < len(self._tokens) else ""

    def _take(self, *keys: str) -> bool:
        found = self._key() in keys
        self._next += found
        return found

    def _need(self, *keys: str) -> None:
        if not self._take(*keys):
            raise _OtherError

    def _ended(self, found: CatalogStatement) -> CatalogStatement:
        if self._next < len(self._tokens):
            raise _OtherError
        return found

    def _text(self, token: Token) -> str:
        return self._sql[token.start : token.end]

    def _name(self) -> Name:
        """A name of any parts, which must stand here; a keyword may be one."""
        parts: list[str] = []
        while True:
            if self._next >= len(self._tokens):
                raise _OtherError
            parts.append(self._part(self._tokens[self._next]))
            self._next += 1
            if not self._take("."):
                return tuple(parts)

    def _part(self, token: Token) -> str:
        text = self._text(token)
        if token.kind == "quoted":
            found = text[1:-1].replace("``", "`")
            if not found:
                raise _OtherError
            return found
        if token.kind not in ("keyword", "plain") or not _ASCII_WORD.fullmatch(text):
            raise _OtherError
        return text

    def _inside(self) -> Name:
        return self._name() if self._take("FROM", "IN") else ()

    def _like(self) -> str | None:
        if not self._take("LIKE") and self._next == len(self._tokens):
            return None
        return self._string()

    def _string(self) -> str:
        """A text without escapes, in quotes of either sort."""
        if self._next >= len(self._tokens) or self._tokens[self._next].kind != "string":
            raise _OtherError
        text = self._text(self._tokens[self._next])
        self._next += 1
        if text[0] not in "'\"" or "\\" in text:
            raise _OtherError
        return text[1:-1]

    def show(self) -> CatalogStatement:
        if self._take("CATALOGS"):
            return self._ended(nodes.ShowCatalogs(self._like()))
        if self._take(*_NAMESPACES_WORDS):
            return self._ended(nodes.ShowNamespaces(self._inside(), self._like()))
        if self._take("CURRENT"):
            self._need(*_NAMESPACE_WORDS)
            return self._ended(nodes.ShowCurrent())
        if self._key() in ("TABLES", "VIEWS"):
            views = self._key() == "VIEWS"
            self._next += 1
            return self._ended(nodes.ShowRelations(views, self._inside(), self._like()))
        if self._take("COLUMNS"):
            self._need("FROM", "IN")
            return self._ended(nodes.ShowColumns(self._name(), self._inside()))
        if self._take("CREATE"):
            self._need("TABLE")
            return self._ended(nodes.ShowCreate(self._name()))
        if self._take("TBLPROPERTIES"):
            return self._ended(nodes.ShowProperties(self._name(), self._property()))
        if self._take("PARTITIONS"):
            return self._ended(nodes.ShowPartitions(self._name()))
        return self._functions()

    def _property(self) -> str | None:
        if not self._take("("):
            return None
        is_text = self._next < len(self._tokens) and self._tokens[self._next].kind == "string"
        key = self._string() if is_text else ".".join(self._plain_name())
        self._need(")")
        return key

    def _plain_name(self) -> Name:
        """A name of plain words, to Spark's grammar the same as a text with dots."""
        begin = self._next
        parts = self._name()
        if any(one.kind == "quoted" for one in self._tokens[begin : self._next]):
            raise _OtherError
        return parts

    def _functions(self) -> CatalogStatement:
        scope = self._key() if self._key() in ("ALL", "SYSTEM", "USER") else "ALL"
        self._take("ALL", "SYSTEM", "USER")
        self._need("FUNCTIONS")
        return self._ended(nodes.ShowFunctions(scope, self._inside(), self._like()))

    def describe(self) -> CatalogStatement:
        if self._key() in _NAMESPACE_WORDS and self._key(1) not in ("", "."):
            self._next += 1
            extended = self._key(1) not in ("", ".") and self._take("EXTENDED")
            return self._ended(nodes.DescribeNamespace(self._name(), extended))
        if self._key() == "QUERY" and self._key(1) in _QUERY_WORDS:
            self._next += 1
            return self._query()
        if self._key() in ("SELECT", "WITH", "VALUES"):
            return self._query()
        if self._key() == "TABLE" and self._key(1) != ".":
            self._next += 1
        extended = self._key(1) != "." and self._take("EXTENDED", "FORMATTED")
        if self._next < len(self._tokens) and self._tokens[self._next].kind == "keyword":
            raise _OtherError  # FUNCTION, PROCEDURE and the like, or a name that isn't surely one
        table = self._name()
        column: Name = ()
        if self._next < len(self._tokens):
            if self._key() in ("PARTITION", "AS"):
                raise _OtherError
            column = self._name()
        return self._ended(nodes.DescribeTable(table, extended, column))

    def _query(self) -> CatalogStatement:
        begin, end = self._tokens[self._next].start, self._tokens[-1].end
        return nodes.DescribeQuery(self._sql[begin:end])

    def use(self) -> CatalogStatement:
        namespace = self._key() in _NAMESPACE_WORDS and self._key(1) not in ("", ".")
        if namespace:
            self._next += 1
        return self._ended(nodes.UseNamespace(self._name(), namespace))

    def set(self) -> CatalogStatement:
        self._need("CATALOG")
        if self._next < len(self._tokens) and self._tokens[self._next].kind == "string":
            return self._ended(nodes.UseCatalog(self._string()))
        (name,) = self._one_part()
        return self._ended(nodes.UseCatalog(name))

    def _one_part(self) -> Name:
        parts = self._name()
        if len(parts) != 1:
            raise _OtherError
        return parts

    def explain(self) -> CatalogStatement:
        if self._key() not in ("SELECT", "WITH", "VALUES"):
            raise _OtherError
        begin, end = self._tokens[self._next].start, self._tokens[-1].end
        return nodes.ExplainQuery(self._sql[begin:end])


_RULES: Mapping[str, Callable[[_CatalogCursor], CatalogStatement]] = {
    "SHOW": _CatalogCursor.show,
    "DESCRIBE": _CatalogCursor.describe,
    "DESC": _CatalogCursor.describe,
    "USE": _CatalogCursor.use,
    "SET": _CatalogCursor.set,
    "EXPLAIN": _CatalogCursor.explain,
}
