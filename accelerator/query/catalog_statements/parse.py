"""Reads a statement about catalogs, tables or the session from its text.

Promise: a text that Spark's parser may read in another way, or refuse, is None: only Spark answers
it. The text's length is bounded before its words are looked at.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from accelerator.query.catalog_statements import nodes
from accelerator.query.catalog_statements.nodes import CatalogStatement, Name
from rewrite.errors import StatementError
from rewrite.parse.cursor import WordCursor
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
    except StatementError:
        return None


def _setting(sql: str) -> nodes.SetKey | None:
    """Reads SET by a grammar of its own: Spark doesn't cut the value behind `=` into words."""
    found = _SETTING.fullmatch(sql)
    if found is not None and found[1].upper() not in ("CATALOG", "ROLE", "VAR", "VARIABLE"):
        return nodes.SetKey(found[1], found[2])
    zone = _ZONE.fullmatch(sql)
    return None if zone is None else nodes.SetKey(_ZONE_KEY, zone[1] or zone[2])


class _CatalogCursor(WordCursor[Token]):
    """A cursor over the words of one statement; its errors say that only Spark knows the text."""

    def statement(self) -> CatalogStatement:
        rule = _RULES.get(self._key())
        if rule is None:
            raise self._other()
        self.next += 1
        return rule(self)

    def _other(self) -> StatementError:
        return self.error("a statement about catalogs, tables or the session")

    def _key(self, ahead: int = 0) -> str:
        word = self.peek(ahead)
        return "" if word is None else word.key

    def _kind(self) -> str:
        word = self.peek()
        return "" if word is None else word.kind

    def _name(self) -> Name:
        """A name of any parts, which must stand here; a keyword may be one."""
        parts: list[str] = []
        while True:
            parts.append(self._part())
            if not self.take("."):
                return tuple(parts)

    def _part(self) -> str:
        word = self.peek()
        text = "" if word is None else word.name(self.sql)
        fits = text if self._kind() == "quoted" else _ASCII_WORD.fullmatch(text)
        if not fits or self._kind() not in ("keyword", "plain", "quoted"):
            raise self._other()
        self.next += 1
        return text

    def _inside(self) -> Name:
        return self._name() if self.take_any("FROM", "IN") else ()

    def _like(self) -> str | None:
        if not self.take("LIKE") and self.next == len(self.words):
            return None
        return self._string()

    def _string(self) -> str:
        """A text without escapes, in quotes of either sort."""
        word = self.peek()
        text = "" if word is None else word.name(self.sql)
        if self._kind() != "string" or text[0] not in "'\"" or "\\" in text:
            raise self._other()
        self.next += 1
        return text[1:-1]

    def show(self) -> CatalogStatement:
        if self.take("CATALOGS"):
            return self.ended(nodes.ShowCatalogs(self._like()))
        if self.take_any(*_NAMESPACES_WORDS):
            return self.ended(nodes.ShowNamespaces(self._inside(), self._like()))
        if self.take("CURRENT"):
            self.one_of(*_NAMESPACE_WORDS)
            return self.ended(nodes.ShowCurrent())
        if self._key() in ("TABLES", "VIEWS"):
            views = self._key() == "VIEWS"
            self.next += 1
            return self.ended(nodes.ShowRelations(views, self._inside(), self._like()))
        if self.take("COLUMNS"):
            self.one_of("FROM", "IN")
            return self.ended(nodes.ShowColumns(self._name(), self._inside()))
        if self.take("CREATE"):
            self.expect("TABLE")
            return self.ended(nodes.ShowCreate(self._name()))
        if self.take("TBLPROPERTIES"):
            return self.ended(nodes.ShowProperties(self._name(), self._property()))
        if self.take("PARTITIONS"):
            return self.ended(nodes.ShowPartitions(self._name()))
        return self._functions()

    def _property(self) -> str | None:
        if not self.take("("):
            return None
        is_text = self._kind() == "string"
        key = self._string() if is_text else ".".join(self._plain_name())
        self.expect(")")
        return key

    def _plain_name(self) -> Name:
        """A name of plain words, to Spark's grammar the same as a text with dots."""
        begin = self.next
        parts = self._name()
        if any(one.kind == "quoted" for one in self.words[begin : self.next]):
            raise self._other()
        return parts

    def _functions(self) -> CatalogStatement:
        scope = self._key() if self._key() in ("ALL", "SYSTEM", "USER") else "ALL"
        self.take_any("ALL", "SYSTEM", "USER")
        self.expect("FUNCTIONS")
        return self.ended(nodes.ShowFunctions(scope, self._inside(), self._like()))

    def describe(self) -> CatalogStatement:
        if self._key() in _NAMESPACE_WORDS and self._key(1) not in ("", "."):
            self.next += 1
            extended = self._key(1) not in ("", ".") and self.take("EXTENDED")
            return self.ended(nodes.DescribeNamespace(self._name(), extended))
        if self._key() == "QUERY" and self._key(1) in _QUERY_WORDS:
            self.next += 1
            return self._query()
        if self._key() in ("SELECT", "WITH", "VALUES"):
            return self._query()
        if self._key() == "TABLE" and self._key(1) != ".":
            self.next += 1
        extended = self._key(1) != "." and self.take_any("EXTENDED", "FORMATTED")
        if self._kind() == "keyword":
            raise self._other()  # FUNCTION, PROCEDURE and the like, or a name that isn't surely one
        table = self._name()
        column: Name = ()
        if self.next < len(self.words):
            if self._key() in ("PARTITION", "AS"):
                raise self._other()
            column = self._name()
        return self.ended(nodes.DescribeTable(table, extended, column))

    def _query(self) -> CatalogStatement:
        return nodes.DescribeQuery(self.rest())

    def use(self) -> CatalogStatement:
        namespace = self._key() in _NAMESPACE_WORDS and self._key(1) not in ("", ".")
        if namespace:
            self.next += 1
        return self.ended(nodes.UseNamespace(self._name(), namespace))

    def set(self) -> CatalogStatement:
        self.expect("CATALOG")
        if self._kind() == "string":
            return self.ended(nodes.UseCatalog(self._string()))
        (name,) = self._one_part()
        return self.ended(nodes.UseCatalog(name))

    def _one_part(self) -> Name:
        parts = self._name()
        if len(parts) != 1:
            raise self._other()
        return parts

    def explain(self) -> CatalogStatement:
        if self._key() not in ("SELECT", "WITH", "VALUES"):
            raise self._other()
        return nodes.ExplainQuery(self.rest())


_RULES: Mapping[str, Callable[[_CatalogCursor], CatalogStatement]] = {
    "SHOW": _CatalogCursor.show,
    "DESCRIBE": _CatalogCursor.describe,
    "DESC": _CatalogCursor.describe,
    "USE": _CatalogCursor.use,
    "SET": _CatalogCursor.set,
    "EXPLAIN": _CatalogCursor.explain,
}
