"""The one root of every error that a user may see, and the errors that SQL text can cause.

Each error has a stable `code`, a sentence that names the thing, and a `hint` that says what to do.
Errors of storage, builds and configuration stand in `accelerator.errors`, under the same root.
"""

from __future__ import annotations


class AcceleratorError(Exception):
    """Root of every error raised on purpose: `code`, `message` and `hint` are its public fields."""

    code = "error"

    def __init__(self, message: str, *, hint: str = "") -> None:
        self.message = message
        self.hint = hint
        super().__init__(f"{message}\n  hint: {hint}" if hint else message)


class StatementError(AcceleratorError):
    """The statement's text can't be understood."""

    code = "statement_invalid"


class UnknownTableError(AcceleratorError):
    """A name that no catalog of the session knows as a table."""

    code = "table_unknown"


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
