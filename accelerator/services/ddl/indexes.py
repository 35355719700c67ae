"""CREATE, BUILD, DROP INDEX and SHOW INDEXES, run against a services.

CREATE OR REPLACE builds the new index beside the old one, under a name of its own, and takes its
place by one commit: a build that fails leaves the old one in force.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec.structs import replace

from accelerator.artifacts.sidecars import records
from accelerator.artifacts.sidecars.bundle import BundledFilters, BundlePiece, Ranges
from accelerator.builds.sidecars.builder import BuiltIndex, IndexTarget
from accelerator.common.interrupts import interruptible
from accelerator.common.progress import Progress
from accelerator.common.records.as_dict import as_dict
from accelerator.errors import (
    AcceleratorError,
    IndexDefinitionError,
    IndexExistsError,
    IndexNotFoundError,
    RelateColumnError,
    SparkMissingError,
    UnknownTableError,
)
from accelerator.query.statements.definitions import pinned_table, table_uuid
from accelerator.query.statements.nodes import BuildIndex, CreateIndex, DropIndex, ShowIndexes
from accelerator.services.advisor.apply import user_changes
from accelerator.services.refresh.lag import lag_s, of_index
from accelerator.store import BESIDE, IndexRecord, SegmentRecord

if TYPE_CHECKING:
    from accelerator.query.runtime.services import Services

_PROBES = 2_000


def create(statement: CreateIndex, services: Services) -> list[dict[str, Any]]:
    """Registers an index and builds it, unless DEFERRED.

    IndexExistsError for a name in use, IndexDefinitionError for one that replacing needs.
    """
    pinned = pinned_table(services, statement.table)
    if statement.name.endswith(BESIDE):
        raise IndexDefinitionError(
            f"{statement.name} is the name of an index that is being replaced",
            hint=f"choose a name that doesn't end in {BESIDE}",
        )
    existing = services.store.registry(fresh=True).indexes.get(statement.name)
    if existing is not None and statement.if_not_exists:
        return _rows(BuiltIndex(statement.name))
    record = services.index_builder.define(statement, pinned)
    if existing is not None and not statement.replace:
        raise IndexExistsError(
            f"an index named {statement.name} exists",
            hint="drop it, choose another name, or say CREATE OR REPLACE INDEX",
        )
    if not statement.deferred:
        services.index_builder.check_spark(record)
    if existing is not None:
        services.store.check_writable()
        user_changes.note(services, "dropped", existing)
    if existing is None or statement.deferred:
        if existing is not None:  # DEFERRED leaves nothing to wait for
            services.store.drop_index(statement.name)
            record = replace(record, refresh=existing.refresh)
        services.store.create_index(record)
        built = [] if statement.deferred else _first_build(services, record)
        return _rows(*built or [BuiltIndex(statement.name)])
    beside = replace(record, name=f"{statement.name}{BESIDE}")
    with suppress(IndexNotFoundError):  # of a build that was killed
        services.store.drop_index(beside.name)
    services.store.create_index(beside)
    try:
        built = build(services, [beside], None)
        services.store.rename_index(beside.name, statement.name)
    except BaseException:
        with suppress(AcceleratorError):
            services.store.drop_index(beside.name)
        raise
    return _rows(*(replace(one, index=statement.name) for one in built))


def _first_build(services: Services, record: IndexRecord) -> list[BuiltIndex]:
    """Builds a new index; without Spark, if that is needed after all, no index stays."""
    try:
        return build(services, [record], None)
    except SparkMissingError:
        if not services.store.table(record.table_uuid).of(record.id):
            with suppress(AcceleratorError):
                services.store.drop_index(record.name, index_id=record.id)
        raise


def build(
    services: Services, wanted: Sequence[IndexRecord], progress: Progress | None
) -> list[BuiltIndex]:
    """Builds what indexes of one table lack; Ctrl-C and `cancel` stop it."""
    stop = threading.Event()

    def interrupt(tag: str) -> None:
        stop.set()
        services.cancellation.interrupt(tag)

    with services.cancellation.tracked() as tag, interruptible(lambda: interrupt(tag)):
        return services.index_builder.build(wanted, progress=progress, cancelled=stop, tag=tag)


def build_named(
    statement: BuildIndex, services: Services, progress: Progress | None = None
) -> list[dict[str, Any]]:
    """Builds what an index lacks."""
    record = services.store.registry(fresh=True).index(statement.name)
    return _rows(*build(services, [record], progress))


def build_all(services: Services, table_uuid: str) -> list[BuiltIndex]:
    """Builds what a table's indexes lack, but for those whose column was dropped or made anew.

    A relate column is as good as dropped where its path is broken, or a key on it isn't unique. An
    index beside one that it's to replace is its own build's, or was left by one that was killed.
    """
    wanted = []
    for _, record in sorted(services.store.registry(fresh=True).indexes.items()):
        if record.table_uuid == table_uuid and not record.name.endswith(BESIDE):
            with suppress(IndexDefinitionError, RelateColumnError, UnknownTableError):
                target = services.index_builder.target(record)
                if target.path is not None:
                    services.dimensions.check(target.path)
                wanted.append(record)
    return build(services, wanted, None) if wanted else []


def drop(statement: DropIndex, services: Services) -> list[dict[str, Any]]:
    """Removes an index."""
    services.store.check_writable()
    try:
        user_changes.note(
            services, "dropped", services.store.registry(fresh=True).index(statement.name)
        )
        services.store.drop_index(statement.name)
    except IndexNotFoundError:
        if not statement.if_exists:
            raise
        return []
    return [{"index": statement.name}]


def _rows(*built: BuiltIndex) -> list[dict[str, Any]]:
    return [as_dict(one) | {"files_skipped": one.skipped} for one in built]


def show(statement: ShowIndexes, services: Services) -> list[dict[str, Any]]:
    """Every index, or those of a table.

    The false-positive rate is measured: so many random hashes are looked up in every filter; of
    filters of ranges the build did it, by ranges without a value.
    """
    from accelerator.services.refresh.ddl import Shown

    wanted = table_uuid(services, statement.table)
    registry, followed = services.store.registry(fresh=True), Shown(services)
    uses = services.uses.known()
    return [
        _row(services, record)
        | followed.of(record)
        | uses.of_index(record.name, record.created_ms).columns()
        for _, record in sorted(registry.indexes.items())
        if wanted in (None, record.table_uuid)
    ]


def _row(services: Services, record: IndexRecord) -> dict[str, Any]:
    row: dict[str, Any] = {
        "index": record.name,
        "table": record.table,
        "kind": record.kind,
        "column": record.column,
        "options": ", ".join(f"{k} = {v}" for k, v in sorted(record.options.items())),
        "created": record.created_ms,
    }
    try:
        with services.store.reading():
            target = services.index_builder.target(record)
            state = _state(services, target)
            if record.disabled is not None:
                state["status"] = f"disabled: {record.disabled}"
            return row | state
    except (AcceleratorError, OSError, ValueError) as error:
        return row | {"status": str(error).splitlines()[0]}


def _state(services: Services, target: IndexTarget) -> dict[str, Any]:
    built = services.store.table(target.record.table_uuid).of(target.record.id)
    usable = [s for s in built if records.answers_for(s, target.type)]
    total = {f.key for f in target.pinned.live_files()}
    due = services.index_builder.missing(target)
    found = total - due.files
    size, rows = sum(s.bytes for s in usable), sum(s.rows for s in usable if s.is_bundle)
    return {
        "column": target.column.name,
        "files_covered": len(found),
        "files_total": len(total),
        "bytes": size,
        "bits_per_row": 8 * size / rows if rows else None,
        "false_positive_rate": _measured(services, usable),
        "modes": _modes(usable),
        "lag_s": lag_s(of_index(target, due), time.time_ns() // 1_000_000),
        "status": "complete" if len(found) == len(total) else "partial",
    }


def _measured(services: Services, built: Sequence[SegmentRecord]) -> float | None:
    """The share of files that keep what they don't hold, over all filters; None without any."""
    hashes = np.random.default_rng().integers(0, 2**64, _PROBES, dtype=np.uint64).tolist()
    kept, asked = 0.0, 0
    for record, piece in _pieces(built):
        if isinstance(piece, BundledFilters):
            read = services.indexes.files.reader(record.path)
            files = piece.bundle.files
            few = hashes[: max(100, _PROBES // max(1, files))]
            for value in few:
                kept += int(piece.bundle.may(((value,),), piece.within(read)).sum())
            asked += len(few) * files
        elif isinstance(piece, Ranges):
            kept += piece.rate * piece.group.shape.files
            asked += piece.group.shape.files
    return kept / asked if asked else None


def _modes(built: Sequence[SegmentRecord]) -> str | None:
    """How many files have a filter of which mode; None where the kind has no modes."""
    found: Counter[str] = Counter()
    for _, piece in _pieces(built):
        if isinstance(piece, Ranges):
            found[piece.group.shape.mode] += piece.group.shape.files
    return ", ".join(f"{mode} {files}" for mode, files in sorted(found.items())) or None


def _pieces(built: Sequence[SegmentRecord]) -> Iterator[tuple[SegmentRecord, BundlePiece]]:
    for record in built:
        if record.is_bundle:
            yield from ((record, piece) for piece in records.pieces_of(record))
