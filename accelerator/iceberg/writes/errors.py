"""What can be wrong with rows that a client sends."""

from __future__ import annotations

from accelerator.errors import AcceleratorError


class IngestError(AcceleratorError):
    """What was sent is no stream of Arrow's that is read here."""

    code = "upload_invalid"


class IngestSchemaError(AcceleratorError):
    """A column that was sent isn't one of the table's, has another type, or has a wrong value."""

    code = "upload_schema"


class IngestTooLargeError(AcceleratorError):
    """More was sent than is taken at once."""

    code = "upload_too_large"


class AppendKeyError(AcceleratorError):
    """The key of an append was used for other rows."""

    code = "append_key_used"


class AppendUnsupportedError(AcceleratorError):
    """The table is of a kind that nothing is written to from here."""

    code = "append_unsupported"


class AppendConflictError(AcceleratorError):
    """Others kept committing first, or changed the table itself meanwhile; nothing was appended."""

    code = "append_conflict"


class AppendUnknownError(AcceleratorError):
    """Whether the rows were appended isn't known: the catalog's answer was lost."""

    code = "append_unknown"
