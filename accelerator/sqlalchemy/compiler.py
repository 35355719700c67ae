"""SQLAlchemy's expressions as Spark SQL.

Promises: every name stands in backticks; a value that is written into a statement is the literal
that a parameter would become; what Spark reads otherwise than SQLAlchemy means it is written so
that both mean the same, or is a CompileError. Nothing that writes is compiled.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from sqlalchemy.exc import CompileError
from sqlalchemy.sql import compiler, operators, visitors
from sqlalchemy.sql.ddl import DDL
from sqlalchemy.sql.elements import BindParameter, ColumnClause
from sqlalchemy.sql.selectable import FromClause, TableClause
from sqlalchemy.types import Float, Integer, Interval, NullType, String, TypeDecorator

from accelerator.errors import ParameterError, StatementError
from accelerator.query.parameters import literal
from rewrite.identifiers.qualified_name import parts_of

_READS = "this dialect only reads: write by Spark, or give the statement as a text"


class SparkNames(compiler.IdentifierPreparer):
    """Names in backticks, always: which words need them is no list to keep."""

    def __init__(self, dialect: Any) -> None:
        super().__init__(dialect, initial_quote="`", escape_quote="`")

    def _requires_quotes(self, value: str) -> bool:  # noqa: ARG002
        return True

    def quote_schema(self, schema: str, force: Any = None) -> str:  # noqa: ARG002
        """A namespace, or catalog and namespace, each part in backticks."""
        try:
            parts = parts_of(schema)
        except StatementError as error:
            raise CompileError(f"no namespace is named {schema!r}") from error
        return ".".join(map(self.quote_identifier, parts))


class SparkSql(compiler.SQLCompiler):
    """SELECTs.

    A column is named by its table alone, `t.k` for `d.t.k`, which is all that is surely read alike
    of views and of namespaces of several levels. Where a statement has that name twice, the table
    gets an alias.
    """

    def visit_table(self, table: Any, **kw: Any) -> Any:  # type: ignore[override]
        """The full name, and an alias where one is needed."""
        kw["ambiguous_table_name_map"] = None  # which knows no aliases of the name
        text = super().visit_table(table, **kw)  # type: ignore[no-untyped-call]
        enclosing = kw.get("enclosing_alias")
        has_alias = enclosing is not None and enclosing.element is table
        if not kw.get("asfrom") or has_alias or not self._is_among_others(table):
            return text
        return f"{text} AS {self._qualifier(table)}"

    def visit_column(  # type: ignore[override]
        self, column: Any, add_to_result_map: Any = None, include_table: bool = True, **kw: Any
    ) -> str:
        """Its name behind its table's."""
        table, kw["ambiguous_table_name_map"] = column.table, None
        short = include_table and isinstance(table, TableClause) and table.schema is not None
        text = super().visit_column(column, add_to_result_map, include_table and not short, **kw)
        return f"{self._qualifier(table)}.{text}" if short else text

    def _qualifier(self, table: Any) -> str:
        """What a table of a schema is called."""
        if not self._is_among_others(table):
            return self.preparer.quote(table.name)
        key = (table.schema, table.name)
        if key not in self._aliases:
            self._aliases[key] = table.alias().name
        return self.preparer.quote(self._truncated_identifier("alias", self._aliases[key]))

    def _is_among_others(self, table: Any) -> bool:
        """Whether something else in the statement has, or may have, the table's bare name."""
        if table.schema is None:
            return False
        return self._names.get(table.name.casefold()) != {(table.schema, table.name)}

    @cached_property
    def _aliases(self) -> dict[tuple[str, str], Any]:
        return {}

    @cached_property
    def _names(self) -> dict[str, set[Any]]:
        return _named(self.statement)

    def render_literal_value(self, value: Any, type_: Any) -> str:
        """The literal that a parameter of that value would become."""
        processor = type_._cached_bind_processor(self.dialect)
        try:
            return literal(value if processor is None else processor(value), "the value")
        except ParameterError as error:
            raise CompileError(str(error)) from error

    def limit_clause(self, select: Any, **kw: Any) -> str:
        """Each of both alone, too."""
        limit, offset = select._limit_clause, select._offset_clause
        text = "" if limit is None else f"\n LIMIT {self.process(limit, **kw)}"
        return text if offset is None else f"{text} OFFSET {self.process(offset, **kw)}"

    def fetch_clause(
        self,
        select: Any,
        fetch_clause: Any = None,
        require_offset: bool = False,  # noqa: ARG002
        use_literal_execute_for_simple_int: bool = False,  # noqa: ARG002
        **kw: Any,
    ) -> str:
        """FETCH FIRST n ROWS ONLY, by the word that Spark has for it."""
        options = select._fetch_clause_options or {}
        if options.get("with_ties") or options.get("percent"):
            raise CompileError("Spark has no FETCH of ties or percents")
        wanted = select._fetch_clause if fetch_clause is None else fetch_clause
        text = f"\n LIMIT {self.process(wanted, **kw)}"
        offset = select._offset_clause
        return text if offset is None else f"{text} OFFSET {self.process(offset, **kw)}"

    def for_update_clause(self, select: Any, **kw: Any) -> str:  # noqa: ARG002
        """CompileError: nothing is locked."""
        raise CompileError(_READS)

    def visit_concat_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:  # noqa: ARG002
        """A call, since Spark's || binds no looser than +."""
        return f"concat({self.process(binary.left, **kw)}, {self.process(binary.right, **kw)})"

    def visit_concat_op_expression_clauselist(self, clauselist: Any, _: Any, **kw: Any) -> str:
        return f"concat({', '.join(self.process(one, **kw) for one in clauselist.clauses)})"

    def visit_is_distinct_from_binary(self, binary: Any, operator: Any, **kw: Any) -> str:  # noqa: ARG002
        return f"NOT ({self._equal(binary, **kw)})"

    def visit_is_not_distinct_from_binary(self, binary: Any, operator: Any, **kw: Any) -> str:  # noqa: ARG002
        return self._equal(binary, **kw)

    def _equal(self, binary: Any, **kw: Any) -> str:
        return f"{self.process(binary.left, **kw)} <=> {self.process(binary.right, **kw)}"

    def visit_like_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:  # noqa: ARG002
        return self._like("LIKE", binary, **kw)

    def visit_not_like_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:  # noqa: ARG002
        return self._like("NOT LIKE", binary, **kw)

    def visit_ilike_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:  # noqa: ARG002
        return self._like("ILIKE", binary, **kw)

    def visit_not_ilike_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:  # noqa: ARG002
        return self._like("NOT ILIKE", binary, **kw)

    def _like(self, word: str, binary: Any, **kw: Any) -> str:
        left, right = self.process(binary.left, **kw), self.process(binary.right, **kw)
        text = f"{left} {word} {right}"
        escape = binary.modifiers.get("escape")
        if escape in (None, "\\"):  # which is Spark's own
            return text
        written = literal(escape, "the escape character")
        if len(escape) != 1 or not written.startswith("'"):
            raise CompileError(f"Spark's LIKE takes no {escape!r} as its escape character")
        return f"{text} ESCAPE {written}"

    def visit_contains_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:  # noqa: ARG002
        return self._like("LIKE", _around(self, "%", binary, "%"), **kw)

    def visit_not_contains_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:  # noqa: ARG002
        return self._like("NOT LIKE", _around(self, "%", binary, "%"), **kw)

    def visit_startswith_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:  # noqa: ARG002
        return self._like("LIKE", _around(self, "", binary, "%"), **kw)

    def visit_not_startswith_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:  # noqa: ARG002
        return self._like("NOT LIKE", _around(self, "", binary, "%"), **kw)

    def visit_endswith_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:  # noqa: ARG002
        return self._like("LIKE", _around(self, "%", binary, ""), **kw)

    def visit_not_endswith_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:  # noqa: ARG002
        return self._like("NOT LIKE", _around(self, "%", binary, ""), **kw)

    def visit_regexp_match_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:  # noqa: ARG002
        """Where the pattern is found, as Java has patterns."""
        if binary.modifiers.get("flags"):
            raise CompileError("write a pattern's flags into it: (?i)…")
        return f"{self.process(binary.left, **kw)} RLIKE {self.process(binary.right, **kw)}"

    def visit_not_regexp_match_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        return f"NOT ({self.visit_regexp_match_op_binary(binary, operator, **kw)})"

    def visit_regexp_replace_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:  # noqa: ARG002
        if binary.modifiers.get("flags"):
            raise CompileError("write a pattern's flags into it: (?i)…")
        left, right = self.process(binary.left, **kw), self.process(binary.right, **kw)
        return f"regexp_replace({left}, {right})"

    def visit_floordiv_binary(self, binary: Any, operator: Any, **kw: Any) -> str:  # noqa: ARG002
        """Rounded down, of whole numbers without a floating one between; CompileError of floats."""
        sides = (binary.left, binary.right)
        if any(isinstance(one.type, Float) and one.type.asdecimal is False for one in sides):
            raise CompileError("`//` of floating numbers is a BIGINT in Spark: use func.floor")
        left, right = (self.process(one, **kw) for one in sides)
        if all(isinstance(one.type, Integer) for one in sides):
            below = f"({left}) % ({right}) <> 0 AND (({left}) % ({right}) < 0) <> (({right}) < 0)"
            return f"(({left}) div ({right}) - CASE WHEN {below} THEN 1 ELSE 0 END)"
        return f"FLOOR({left} / {right})"

    def visit_bindparam(self, bindparam: Any, *args: Any, **kw: Any) -> str:
        """As SQLAlchemy writes it, but for an interval: that one would become a moment."""
        if isinstance(bindparam.type, Interval):
            raise CompileError('an interval is no parameter here: write sa.text("INTERVAL …")')
        return str(super().visit_bindparam(bindparam, *args, **kw))  # type: ignore[no-untyped-call]

    def visit_empty_set_expr(self, element_types: Any, **kw: Any) -> str:  # noqa: ARG002
        """A query of no rows."""
        return f"SELECT {self._nulls(element_types)} WHERE 1 != 1"

    def visit_empty_set_op_expr(self, type_: Any, expand_op: Any, **kw: Any) -> str:  # noqa: ARG002
        """What IN compares with where there is nothing: NULLs of the types that it has."""
        nulls = self._nulls(type_)
        shown = f"({nulls})" if len(type_) > 1 else nulls
        if expand_op is operators.not_in_op:
            return f"{shown}) OR (1 = 1"
        if expand_op is operators.in_op:
            return f"{shown}) AND (1 != 1"
        return self.visit_empty_set_expr(type_)

    def _nulls(self, types: Any) -> str:
        """Of each type one; in a tuple Spark takes none without a type."""
        if len(types) == 1:
            return "NULL"
        compiler = self.dialect.type_compiler_instance
        return ", ".join(
            "NULL" if isinstance(one, NullType) else f"CAST(NULL AS {compiler.process(one)})"
            for one in types
        )

    def visit_insert(self, insert_stmt: Any, *args: Any, **kw: Any) -> str:  # noqa: ARG002
        """CompileError, as for all that writes."""
        raise CompileError(_READS)

    def visit_update(self, update_stmt: Any, *args: Any, **kw: Any) -> str:  # noqa: ARG002
        raise CompileError(_READS)

    def visit_delete(self, delete_stmt: Any, *args: Any, **kw: Any) -> str:  # noqa: ARG002
        raise CompileError(_READS)


def _named(statement: Any) -> dict[str, set[Any]]:
    """What the statement names, by the names that columns are qualified with."""
    found: dict[str, set[Any]] = {}
    for one in visitors.iterate(statement):
        source = getattr(one, "table", None) if isinstance(one, ColumnClause) else one
        name = getattr(source, "name", None)
        if isinstance(source, FromClause) and isinstance(name, str):
            key = (source.schema, name) if isinstance(source, TableClause) else id(source)
            found.setdefault(name.casefold(), set()).add(key)
    return found


class _Around(TypeDecorator[str]):
    """A text with others before and behind it, put there when the value is bound."""

    impl = String
    cache_ok = True

    def __init__(self, before: str, behind: str) -> None:
        super().__init__()
        self.before, self.behind = before, behind

    def process_bind_param(self, value: Any, dialect: Any) -> Any:  # noqa: ARG002
        """The pattern."""
        return f"{self.before}{value}{self.behind}" if isinstance(value, str) else value


def _around(made: SparkSql, before: str, binary: Any, behind: str) -> Any:
    """The same with a pattern around its right side, in the value itself where that is a text.

    Such a LIKE is answered in process, one over a concatenation isn't.
    """
    changed, right = binary._clone(), binary.right
    if isinstance(right, BindParameter) and isinstance(right.type, String) and right.unique:
        changed.right = right._clone()  # another parameter: this one may stand elsewhere, too
        changed.right.type = _Around(before, behind)
        return changed
    percent = made._like_percent_literal
    changed.right = percent.concat(right) if before else right
    changed.right = changed.right.concat(percent) if behind else changed.right
    return changed


class NoDdl(compiler.DDLCompiler):
    """CompileError for what makes, changes or drops; a text that is given passes."""

    def process(self, obj: Any, **kwargs: Any) -> str:
        """The text of a DDL that has one."""
        if not isinstance(obj, DDL):
            raise CompileError(_READS)
        return super().process(obj, **kwargs)
