"""The same before a session is opened, for a command that would end with the error anyway.

Of a warehouse's folder names are known sooner than a session's parts are imported: an error is told
in half the time. Promise: nothing is raised that the session wouldn't raise.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from accelerator.at_once.check import check, raise_unknown
from accelerator.at_once.embedded import is_known
from accelerator.at_once.folder import FolderTables
from accelerator.at_once.placed import placed
from accelerator.config import CATALOG_FILE, STORE_FOLDER
from accelerator.errors import CubeNotFoundError, IndexNotFoundError, StoreError
from accelerator.statements.grammar import parse_statement
from accelerator.statements.kinds import (
    BuildCube,
    BuildIndex,
    CompactCube,
    CreateCube,
    DropCube,
    DropIndex,
    ExplainAccelerate,
    ExplainWhyNot,
    PublishCube,
    Statement,
)
from rewrite.dialects import SPARK
from rewrite.unknown import unknown_name

if TYPE_CHECKING:
    from accelerator.config import Config

_OF_CUBES = (BuildCube, CompactCube, DropCube, PublishCube)
_OF_INDEXES = (BuildIndex, DropIndex)
_ANSWERED = (ExplainAccelerate, ExplainWhyNot, PublishCube)
"""What has no error for a name in a query, or names a table that is to be made."""


def check_early(config: Config, sql: str) -> None:
    """The statement's error, where a warehouse's own folder is enough to know it."""
    file = _own_catalog(config)
    if file is None or config.dialect != SPARK or _has_guards(config) or not is_known(config):
        return
    with placed(sql):
        statement = parse_statement(sql)
        tables = FolderTables(file, config.catalog_name)
        if isinstance(statement, CreateCube):
            raise_unknown(unknown_name(statement.select_sql, tables), is_whole=False)
        elif not isinstance(statement, _ANSWERED):
            check(statement, tables)
        if isinstance(statement, (*_OF_CUBES, *_OF_INDEXES)):
            _check_registered(statement, _store(config, file.parent))


def _own_catalog(config: Config) -> Path | None:
    """The file of the only catalog, where that is the folder's own."""
    named = (config.catalog_uri, config.catalog_type, config.catalog_properties, config.catalogs)
    if any(named) or "://" in config.warehouse.removeprefix("file://"):
        return None
    file = Path(config.warehouse.removeprefix("file://")).absolute() / CATALOG_FILE
    return file if file.is_file() else None


def _has_guards(config: Config) -> bool:
    """Whether a guard may refuse the query first, with another error."""
    refusing = (config.guard_cross_joins, config.guard_sorts, config.guard_partitions)
    most = (config.guard_bytes_max, config.guard_files_max, config.guard_rows_max)
    return any(refusing) or any(most)


def _store(config: Config, folder: Path) -> str:
    return config.store or f"{folder.as_uri()}/{STORE_FOLDER}"


def _check_registered(statement: Statement, root: str) -> None:
    """The error for a cube or index that isn't in the store of that folder."""
    if "://" in root and not root.startswith("file://"):
        return
    from accelerator.store import Store

    with suppress(StoreError):  # which the session tells better
        registry = Store.open(root, read_only=True).registry()
        try:
            if isinstance(statement, _OF_CUBES):
                registry.named(statement.name)
            elif isinstance(statement, _OF_INDEXES):
                registry.index(statement.name)
        except (CubeNotFoundError, IndexNotFoundError):
            if not getattr(statement, "if_exists", False):
                raise
