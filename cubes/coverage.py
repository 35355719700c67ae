"""Which segments may answer under a pin, and which files are left to raw rows.

Theory: `docs/rewriting.md`, 5.

A segment is used whole or not at all: all its files live with the same deletes, its named
dimensions at the pinned snapshot, its columns of the pinned types, its joins counted as the match
needs. Chosen segments are disjoint, larger (merged) ones first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from msgspec import Struct, field

from cubes.definition import FORMAT, CubeDefinition
from cubes.match_result import Needs
from rewrite.facts import ColumnFacts, TableFacts
from rewrite.ir.expr import ZONE, Call, Column, Expr, Literal, walk


class Covered(Protocol):
    """A data file, live or as a segment covers it."""

    @property
    def path(self) -> str: ...
    @property
    def sequence_number(self) -> int: ...
    @property
    def deletes_key(self) -> str: ...
    @property
    def size_bytes(self) -> int: ...


class EdgeCounts(Protocol):
    """What a build counted on an edge; None is unknown."""

    @property
    def edge(self) -> int: ...
    @property
    def missing(self) -> int | None: ...
    @property
    def unique(self) -> bool | None: ...


class Segment(Protocol):
    """A segment's record."""

    @property
    def id(self) -> int: ...
    @property
    def files(self) -> Sequence[Covered]: ...
    @property
    def dimensions(self) -> Sequence[tuple[int, str, int | None]]: ...
    @property
    def edges(self) -> Sequence[EdgeCounts]: ...
    @property
    def fields(self) -> Sequence[tuple[str, int, str, bool]]: ...
    @property
    def settings(self) -> Sequence[tuple[str, str]]: ...
    @property
    def format(self) -> int: ...
    @property
    def facts(self) -> Mapping[str, Any]: ...


class Holds(Protocol):
    """Whether nothing that a segment's files have of a dimension has changed since a snapshot."""

    def __call__(self, segment: Segment, occurrence: int, snapshot: int | None) -> bool: ...


class Coverage(Struct, frozen=True):
    """Chosen segments and uncovered files of one pin, and why others weren't chosen.

    `refused` counts reasons; `reasons` are those of each segment, by its id.
    """

    segments: tuple[Any, ...]
    uncovered: tuple[Any, ...]
    refused: Mapping[str, int] = field(default_factory=dict)
    reasons: Mapping[int, str] = field(default_factory=dict)


def cover(
    cube: CubeDefinition,
    segments: Iterable[Segment],
    files: Sequence[Covered],
    pinned: Mapping[int, TableFacts],
    needs: Needs,
    settings: Mapping[str, str],
    holds: Holds | None = None,
) -> Coverage:
    """The exact cover of `files` by valid segments and raw files.

    `pinned` gives, for each table occurrence of the cube that the statement has, its pinned facts.
    `holds` is asked of segments that were built from another snapshot of a dimension.
    """
    times = Counter(f.path for f in files)
    live = {(f.path, f.sequence_number): (f.deletes_key, f.size_bytes) for f in files}
    # A path that stands twice can't be told apart by what a reader calls its file: raw rows.
    live = {key: state for key, state in live.items() if times[key[0]] == 1}
    reasons = dict[int, str]()
    chosen: list[Segment] = []
    taken: set[tuple[str, int]] = set()
    fields = _fields(pinned.values())
    sensitive = zone_sensitive(cube)
    for segment in sorted(segments, key=lambda s: (-len(s.files), s.id)):
        reason = _invalid(segment, live, pinned, fields, needs, holds)
        if reason is None and sensitive and dict(segment.settings) != dict(settings):
            reason = "schema_changed"
        keys = {(f.path, f.sequence_number) for f in segment.files}
        if reason is None and keys & taken:
            continue
        if reason is not None:
            reasons[segment.id] = reason
            continue
        chosen.append(segment)
        taken |= keys
    uncovered = tuple(f for f in files if (f.path, f.sequence_number) not in taken)
    refused = Counter(reasons.values())
    return Coverage(tuple(chosen), uncovered, dict(refused), reasons)


def _fields(
    pinned: Iterable[TableFacts],
) -> dict[tuple[str, int], tuple[str, bool] | None]:
    """How each field is read; None where tables of one uuid, such as two states, differ in it."""
    found: dict[tuple[str, int], tuple[str, bool] | None] = {}
    for table in pinned:
        for column in table.columns:
            read = read_as(column), column.required
            name = table.uuid, column.field_id
            found[name] = read if found.setdefault(name, read) == read else None
    return found


def _invalid(
    segment: Segment,
    live: Mapping[tuple[str, int], tuple[str, int]],
    pinned: Mapping[int, TableFacts],
    fields: Mapping[tuple[str, int], tuple[str, bool] | None],
    needs: Needs,
    holds: Holds | None,
) -> str | None:
    if segment.format != FORMAT:
        return "segment_unreadable"
    if any(
        live.get((f.path, f.sequence_number)) != (f.deletes_key, f.size_bytes)
        for f in segment.files
    ):
        return "files_changed"
    built = {occurrence: (uuid, snapshot) for occurrence, uuid, snapshot in segment.dimensions}
    for occurrence, _mine in needs.named:
        table = pinned[occurrence]
        then = built.get(occurrence)
        if then == (table.uuid, table.snapshot_id):
            continue
        if then is None or then[0] != table.uuid or holds is None:
            return "dimension_changed"
        if not holds(segment, occurrence, then[1]):
            return "dimension_changed"
    named = {table.uuid for table in pinned.values()}
    for uuid, field_id, type_, required in segment.fields:
        if uuid in named and fields.get((uuid, field_id)) != (type_, required):
            return "schema_changed"
    counted = {edge.edge: edge for edge in segment.edges}
    if any(o not in counted or counted[o].missing != 0 for o in needs.complete):
        return "join_not_counted"
    if any(o not in counted or counted[o].unique is not True for o in needs.unique):
        return "join_not_counted"
    bounds = segment.facts.get("bounds", {})
    if not all(_bounded(bounds, *pair) for pair in needs.bounded):
        return "aggregate_not_in_cube"
    return None


def _bounded(bounds: Mapping[str, Any], left: int, right: int, step: str) -> bool:
    """Whether `left op right` is never NULL and never leaves its type, by the files' statistics."""
    a, b = bounds.get(str(left)), bounds.get(str(right))
    if a is None or b is None:
        return False
    low, high = (a[0] + b[0], a[1] + b[1]) if step[0] == "+" else (a[0] - b[1], a[1] - b[0])
    limit = 2**31 if step[1:] == "int" else 2**63
    return bool(-limit <= low and high < limit)


def read_as(column: ColumnFacts) -> str:
    """How a segment's `fields` tell a column: its type, and its layout where it has one.

    After a rename and a new column of the old name, files without ids have another column's values,
    and a struct's field that was dropped and added anew has a type that reads the same.
    """
    return f"{column.type} {column.layout}" if column.layout else column.type


def zone_sensitive(cube: CubeDefinition) -> bool:
    """Whether a value in the cube can depend on the session's time zone."""

    def touches(expr: Expr) -> bool:
        return any(
            isinstance(node, Call)
            and any(
                isinstance(a, (Column, Literal)) and a.type in ("timestamp", ZONE)
                for a in node.args
            )
            for node in walk(expr)
        )

    exprs = [*cube.conjuncts, *(d.expr for d in cube.dimensions)]
    exprs += [e for s in cube.states for e in (s.argument, s.where) if e is not None]
    return any(touches(e) for e in exprs)
