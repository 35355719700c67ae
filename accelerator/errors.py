"""Every error that a user may see, in one place; all share the root `AcceleratorError`."""

from __future__ import annotations

from rewrite.errors import (
    AcceleratorError,
    DefinitionError,
    NotIcebergError,
    StatementError,
    UnknownColumnError,
    UnknownTableError,
)


class ConfigError(AcceleratorError):
    """A setting is unknown or has a value that it can't have."""

    code = "config_invalid"


class CubeExistsError(AcceleratorError):
    """CREATE CUBE with a name in use."""

    code = "cube_exists"


class CubeNotFoundError(AcceleratorError):
    """A statement names a cube that isn't there."""

    code = "cube_not_found"


class ConstraintError(AcceleratorError):
    """A constraint is declared wrongly, is there already, or isn't there."""

    code = "constraint_invalid"


class StoreError(AcceleratorError):
    """The store can't be read or written, or holds a version that this release doesn't know."""

    code = "store_unavailable"


class StoreConflictError(StoreError):
    """Others kept committing first; the commit was retried and given up."""

    code = "store_conflict"


class BuildError(AcceleratorError):
    """A cube build stopped; what it had committed stays and a rerun goes on from there."""

    code = "build_failed"


class EngineError(AcceleratorError):
    """An engine that the statement needs can't be started or failed on its own."""

    code = "engine_failed"


class CancelledError(AcceleratorError):
    """The statement or build was cancelled by its caller."""

    code = "cancelled"


__all__ = [
    "AcceleratorError",
    "BuildError",
    "CancelledError",
    "ConfigError",
    "ConstraintError",
    "CubeExistsError",
    "CubeNotFoundError",
    "DefinitionError",
    "EngineError",
    "NotIcebergError",
    "StatementError",
    "StoreConflictError",
    "StoreError",
    "UnknownColumnError",
    "UnknownTableError",
]
