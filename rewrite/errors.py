"""The one root of every error that a user may see, and the errors that SQL text can cause.

Each error has a stable `code`, a sentence that names the thing, and a `hint` that says what to do.
Errors of storage, builds and configuration stand in `accelerator.errors`, under the same root.
"""

from __future__ import annotations

from rewrite.text.source_position import SourcePosition, offset_of, place_of


class AcceleratorError(Exception):
    """Root of every error raised on purpose: `code`, `message` and `hint` are its public fields.

    `error_class` is Spark's name of the same error, where it has one. `line` and `column`, both
    counted from 1, say where in the statement it is, `located` shows that line with a mark below;
    None and empty where no place is known. `suggestions` are the closest names, nearest first.
    """

    code = "error"
    unreachable = False
    """Whether a service doesn't answer, so that whatever else it's asked fails as well."""

    def __init__(
        self,
        message: str,
        *,
        hint: str = "",
        error_class: str = "",
        at: SourcePosition | None = None,
        suggestions: tuple[str, ...] = (),
        unknown: str = "",
    ) -> None:
        """`unknown` is the name that isn't known: its place is found in the statement later."""
        self.message, self.hint = message, hint
        self.error_class, self.suggestions, self.unknown = error_class, suggestions, unknown
        self.line: int | None = None
        self.column: int | None = None
        self.located = ""
        super().__init__(message)
        if at is not None:
            self.place(at)

    def place(self, at: SourcePosition) -> None:
        """Says where in the statement it is, unless that is known."""
        if self.line is None:
            self.line, self.column, self.located = at.line, at.column, at.shown

    def move(self, part: str, whole: str) -> None:
        """Moves its place from `part` to the text that contains it; else it has no place."""
        if self.line is None or self.column is None or part == whole:
            return
        start = whole.rfind(part)
        at = start + offset_of(part, self.line, self.column)
        width = self.located.count("^")
        self.line = self.column = None
        self.located = ""
        if start >= 0:
            self.place(place_of(whole, at, at + max(1, width)))

    def __str__(self) -> str:
        shown = [f"  {one}" for one in self.located.splitlines()]
        hint = [f"  hint: {self.hint}"] if self.hint else []
        return "\n".join([self.message, *shown, *hint])


class StatementError(AcceleratorError):
    """The statement's text can't be understood."""

    code = "statement_invalid"


class StatementTooDeepError(StatementError):
    """The statement's text is too long, or nested too deeply, to be parsed safely."""

    code = "statement_too_deep"


class UnknownTableError(AcceleratorError):
    """A name that no catalog of the session knows as a table."""

    code = "table_unknown"


class TableReplacedError(UnknownTableError):
    """A name that is another table's now: the one it was made for was dropped, and made anew."""

    code = "table_replaced"


class UnknownCatalogError(UnknownTableError):
    """A name whose first part is no catalog of the session."""

    code = "catalog_unknown"


class UnknownSchemaError(AcceleratorError):
    """A schema (a namespace) that its catalog doesn't have, or that the user may not see."""

    code = "schema_unknown"


class MissingCatalogError(StatementError):
    """A name without a catalog, where the client has said none."""

    code = "catalog_missing"


class MissingSchemaError(StatementError):
    """A name without a schema, where the client has said none."""

    code = "schema_missing"


class UnknownFunctionError(StatementError):
    """A function that Spark doesn't have, nor this package."""

    code = "function_unknown"


class UnknownColumnError(AcceleratorError):
    """A column name that its table doesn't have, or that several tables have."""

    code = "column_unknown"


class NotIcebergError(AcceleratorError):
    """The table exists, but isn't an Apache Iceberg table."""

    code = "table_not_iceberg"


class DefinitionError(AcceleratorError):
    """A cube's defining SELECT holds something that can't be pre-aggregated."""

    code = "cube_definition_unsupported"


class UntranslatedError(StatementError):
    """A query of another dialect holds something that may mean something else in Spark."""

    code = "dialect_untranslated"
