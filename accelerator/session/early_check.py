"""The same before a session is opened, for a command that would end with the error anyway.

Of a warehouse's folder names are known sooner than a session's parts are imported: an error is told
in half the time. Promise: nothing is raised that the session wouldn't raise.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from accelerator.common.config.config import CATALOG_FILE
from accelerator.common.files.file_uri import other_host, path_of
from accelerator.errors import CubeNotFoundError, IndexNotFoundError, StoreError
from accelerator.query.early_errors.check import check, raise_unknown
from accelerator.query.early_errors.folder_tables import FolderTables
from accelerator.query.early_errors.known_spark import is_known
from accelerator.query.early_errors.locate import placed
from accelerator.query.statements.nodes import CreateCube, OfCube, OfIndex
from accelerator.query.statements.parse import parse_statement
from rewrite.analysis.unknown_names import unknown_name
from rewrite.client import SPARK

if TYPE_CHECKING:
    from accelerator.common.config.config import Config


def check_early(config: Config, sql: str) -> None:
    """The statement's error, where a warehouse's own folder is enough to know it."""
    file = _own_catalog(config)
    if file is None or config.dialect != SPARK or config.has_guards or not is_known(config):
        return
    tables = FolderTables(file, config.catalog_name)
    with placed(sql, tables.misnamed):
        statement = parse_statement(sql)
        if isinstance(statement, CreateCube):
            unknown = unknown_name(statement.select_sql, tables)
            # Its place is in the SELECT alone: in the whole statement it's found anew.
            raise_unknown(None if unknown is None else replace(unknown, at=None))
        else:
            check(statement, tables)
        if isinstance(statement, OfCube | OfIndex):
            _check_registered(statement, config.store_root)


def _own_catalog(config: Config) -> Path | None:
    """The file of the only catalog, where that is the folder's own."""
    named = (config.catalog_uri, config.catalog_type, config.catalog_properties, config.catalogs)
    path = path_of(config.warehouse)
    if any(named) or "://" in path or other_host(config.warehouse):
        return None
    file = Path(path).absolute() / CATALOG_FILE
    return file if file.is_file() else None


def _check_registered(statement: OfCube | OfIndex, root: str) -> None:
    """The error for a cube or index that isn't in the store of that folder."""
    if "://" in path_of(root):
        return
    from accelerator.store import Store

    with suppress(StoreError):  # which the session tells better
        registry = Store.open(root, read_only=True).registry()
        try:
            if isinstance(statement, OfCube):
                registry.named(statement.name)
            else:
                registry.index(statement.name)
        except (CubeNotFoundError, IndexNotFoundError):
            if not getattr(statement, "if_exists", False):
                raise
