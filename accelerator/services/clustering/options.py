"""What OPTIMIZE's words mean: which order, and how large files and row groups are to be.

Needs no Spark, so that who only asks what an order would do can ask it here.
"""

from __future__ import annotations

from msgspec import Struct

from accelerator.artifacts.relate.path import check, named, path_of
from accelerator.errors import ClusteringError, UnknownColumnError, no_column
from accelerator.iceberg import Pin, PinnedTable
from accelerator.query.statements.nodes import OptimizeTable
from accelerator.services.clustering.order import Order, OrderKey
from indexes.domains import domain_of
from rewrite.facts import TableFacts

MB = 1024 * 1024
_FILE_MB = 32
ROW_GROUP_BYTES = 4 * MB
_TARGET = "write.target-file-size-bytes"
_DIMENSIONS_MAX = 8


class OptimizeOptions(Struct, frozen=True):
    """The options of OPTIMIZE; sizes in bytes, `file` 0 if it isn't given."""

    file: int = 0
    row_group: int = ROW_GROUP_BYTES
    full: bool = False


def file_bytes(pinned: PinnedTable) -> int:
    """How large the files of a rewrite are to be where the statement doesn't say."""
    told = pinned.properties.get(_TARGET, "")
    most = int(told) if told.isdigit() and int(told) else _FILE_MB * MB
    return min(most, _FILE_MB * MB)


def order_of(statement: OptimizeTable, pinned: PinnedTable, pin: Pin) -> Order:
    """The order that a statement names; its errors as of `optimize`."""
    keys = [_key(name, descending, pinned, pin) for name, descending in statement.keys]
    twice = {key.name for key in keys if sum(k.field_id == key.field_id for k in keys) > 1}
    if twice:
        raise ClusteringError(
            f"{', '.join(sorted(twice))} stands twice in the order", hint="name each column once"
        )
    if statement.order != "sort" and len(keys) > _DIMENSIONS_MAX:
        raise ClusteringError(
            f"a curve leads through up to {_DIMENSIONS_MAX} columns, not {len(keys)}",
            hint="choose those that queries filter by most",
        )
    return Order(pinned.facts.uuid, statement.order, tuple(keys))


def no_key(name: str, table: TableFacts) -> UnknownColumnError:
    """Returns the error for a name that neither a column nor a relate column of the table has.

    Its hint lists no relate columns: some may rest on tables that the user may not read.
    """
    columns = [one.name for one in table.columns]
    more = f"; SHOW RELATE COLUMNS ON {table.name} lists more"
    return no_column(table.name, name, columns, f"its columns are {', '.join(columns)}{more}")


def _key(name: str, descending: bool, pinned: PinnedTable, pin: Pin) -> OrderKey:
    own, path = pinned.facts.column(name), None
    if own is None:
        relate = named(pinned, name)
        if relate is None:
            raise no_key(name, pinned.facts)
        path = path_of(relate, pin)
        check(path, pinned)
        own = path.as_column
    if domain_of(own.type) is None:
        raise ClusteringError(
            f"{own.name} is {own.type}, which rows can't be ordered by",
            hint="numbers, texts, bytes, dates, times and booleans can be",
        )
    return OrderKey(own.field_id, own.name, own.type, descending, path)
