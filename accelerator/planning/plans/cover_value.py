"""A cover as a value: which source has the states of which of a fact's data files.

Theory: `docs/rewriting.md`, 1. Each file has exactly one source. Those of one source are a share;
what a share was refused or cost is part of it, so that whoever shows a plan only prints it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from msgspec import Struct, field

from accelerator.common.records.as_dict import as_dict
from accelerator.iceberg import LiveFile
from accelerator.planning.plans.explain_tree import ExplainStep, counted, notes
from accelerator.store.records import SegmentRecord
from cubes.definition import CubeDefinition
from cubes.match_result import Match
from rewrite.facts import TableFacts
from rewrite.ir.expr import Expr
from rewrite.reason import REASONS, Declined

if TYPE_CHECKING:
    from accelerator.artifacts.sidecars.probe import RowSelection, Skipped
    from accelerator.planning.survey import Survey

NOTHING, MANIFEST, INDEX, SEGMENT, ROWS = "nothing", "manifest", "index", "segment", "rows"
"""The sources: no row of a file passes; its manifest, its bitmaps, a segment have its states; or
its rows are read."""


class UsedRelate(Struct, frozen=True):
    """A relate column that a statement's predicates went through, and its dimensions.

    `stale` files have keys that changed in these since an index was built, or may have.
    `expression` is what it's an expression of, as SQL.
    """

    name: str
    dimensions: tuple[str, ...]
    stale: int
    expression: str = ""

    def step(self) -> ExplainStep:
        """For people."""
        stale = f"{counted(self.stale, 'data file')} may have changed keys" if self.stale else ""
        told = f"is {self.expression}" if self.expression else ""
        by = f"by {' and '.join(self.dimensions)}"
        return ExplainStep(f"relate column {self.name}", notes((by, told, stale)))


class Passed(Struct, frozen=True):
    """Data files that a source has left to the next, and the code of why."""

    source: str
    code: str
    files: int
    detail: str = ""

    def sentence(self) -> str:
        """For people."""
        count = counted(self.files, "data file")
        return f"Left to the next source, {count}: {REASONS[self.code]} {self.detail}".rstrip()

    def phrase(self) -> str:
        """The same in few words."""
        return f"{counted(self.files, 'file')}: {Declined(self.code, self.detail).phrase}"


class Share(Struct, frozen=True):
    """The data files of one source, and what it gives for them.

    `cells` are a manifest's or an index's; `segments` those of a cube; `live` the files whose rows
    are read, of which just those of `selection` may pass, and none but they may be read where it's
    `exact`. `bytes` are read for it. `skipped` says what indexes have told.
    """

    source: str
    files: int
    bytes: int = 0
    cells: pa.Table | None = None
    segments: tuple[SegmentRecord, ...] = ()
    live: tuple[LiveFile, ...] = ()
    selection: RowSelection | None = None
    exact: bool = False
    skipped: tuple[Skipped, ...] = ()


class StoredStates(Struct, frozen=True):
    """States that are there before the statement runs: those of `cube`, which answers by `match`.

    That is aligned with the cover's, so that cells of both merge.
    """

    rows: pa.Table
    cube: CubeDefinition
    match: Match


class Cover(Struct, frozen=True):
    """The sources of a fact's files for one match of the statement with `cube`.

    `refused` counts segments by why they weren't chosen; `beside` are the bytes of other tables
    that are read. `survey` is of the fact's files, where these were chosen by it. Of a join `own`
    is what holds of the fact alone, and `relates` its relate columns; tables that are `gone` aren't
    read, since these say all that is asked of them. `passed` says how many files each source has
    left to the next, and why.
    """

    cube: CubeDefinition
    match: Match
    shares: tuple[Share, ...]
    cells: StoredStates | None = None
    beside: int = 0
    refused: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    survey: Survey | None = None
    own: tuple[Expr, ...] | None = None
    relates: tuple[UsedRelate, ...] = ()
    gone: tuple[TableFacts, ...] = ()
    passed: tuple[Passed, ...] = ()

    @property
    def cells_read(self) -> StoredStates | None:
        """The cells that an engine reads: none if they're empty and rows are read beside them."""
        is_empty = self.cells is not None and not self.cells.rows.num_rows
        return None if is_empty and self.uncovered else self.cells

    def of(self, source: str) -> Iterator[Share]:
        """The shares of that source."""
        return (one for one in self.shares if one.source == source)

    def files(self, *sources: str) -> int:
        """Data files of these sources; of all, where none is named."""
        return sum(one.files for one in self.shares if not sources or one.source in sources)

    def bytes(self, source: str) -> int:
        """Bytes that are read for that source."""
        return sum(one.bytes for one in self.of(source))

    @property
    def segments(self) -> tuple[SegmentRecord, ...]:
        """The chosen segments."""
        return tuple(segment for one in self.of(SEGMENT) for segment in one.segments)

    @property
    def uncovered(self) -> tuple[LiveFile, ...]:
        """The fact's files whose rows are read."""
        return tuple(file for one in self.of(ROWS) for file in one.live)

    @property
    def is_whole(self) -> bool:
        """Whether it's all rows of all files, as plain Spark reads them."""
        spared = self.selection is not None or self.gone
        return not spared and self.files() == self.files(ROWS)

    @property
    def selection(self) -> RowSelection | None:
        """Which rows of these may pass; None where nobody knows."""
        return next((one.selection for one in self.of(ROWS)), None)

    @property
    def exact(self) -> bool:
        """Whether just the rows of the selection may be read."""
        return any(one.exact for one in self.of(ROWS))

    @property
    def raw_bytes(self) -> int:
        """Bytes of rows that are read, of the fact and of other tables."""
        return self.bytes(ROWS) + self.beside

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        """What indexes have told of the files."""
        return tuple(skip for one in self.shares for skip in one.skipped)

    def to_dict(self) -> dict[str, Any]:
        """What manifests and indexes have told, as JSON values."""
        return {
            "serve": self.files(MANIFEST),
            "left_out": self.files(NOTHING),
            "by_indexes": self.files(INDEX),
            "indexes": [as_dict(one) for one in self.skipped],
            "relate_columns": [as_dict(one) for one in self.relates],
            "joins_left_out": [one.name for one in self.gone],
        }

    def by_source(self) -> dict[str, int]:
        """Data files of each source that has any."""
        counts = {one.source: self.files(one.source) for one in self.shares}
        return {source: files for source, files in counts.items() if files}
