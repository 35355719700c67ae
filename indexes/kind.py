"""The one interface of index kinds: what a kind takes, how it builds, what its blobs are.

A kind is trained on one column of one data file, row group after row group, and gives blobs.
*Light* blobs are filters that the planner has of many files side by side; a question becomes what
these are `Asked`: clauses of hashes, or intervals of keys. *Heavy* blobs stay in the file's sidecar
and are read by range. Neither knows of deletes. What a kind can't tell, it doesn't claim.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import pyarrow as pa
from msgspec import Struct, field

from indexes.domains import Key, NotIndexableError
from indexes.question import Question
from indexes.row_verdict import RowVerdict

Clauses = tuple[tuple[int, ...], ...]
"""Hashes (64 bits, unsigned): of each clause at least one is in every file that holds a match."""


class Intervals(Struct, frozen=True):
    """Inclusive intervals of keys (`domains.Key`), of which at least one is met by a match.

    An end that is None is open: nothing lies beyond it.
    """

    of: tuple[tuple[Key | None, Key | None], ...]


Asked = Clauses | Intervals
"""What light blobs are asked: filters of hashes by clauses, filters of ranges by intervals."""
Options = Mapping[str, str | int | float | bool]
Range = tuple[int, int, str]
"""The least and the most of a whole number, and its unit."""
_LEAST_BITS, _MOST_BITS = 4, 40
Read = Callable[[int, int], bytes]
"""(offset, length) within a blob → its bytes there."""


class OptionError(ValueError):
    """An option that a kind doesn't have, or a value out of its range; says what is allowed.

    Of an option that isn't there `unknown` is its name, `known` are those that are.
    """

    def __init__(self, message: str, unknown: str = "", known: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.unknown, self.known = unknown, tuple(known)


def options_of(
    kind: str, given: Options, defaults: Options, wholes: Mapping[str, Range] | None = None
) -> dict[str, Any]:
    """All options, defaults filled in; OptionError for what isn't allowed.

    A default shows whether an option is a flag or a number of bits; `wholes` are whole numbers.
    """
    if unknown := sorted(set(given) - set(defaults)):
        told = f"{kind} has no option {unknown[0]}; it has {', '.join(defaults)}"
        raise OptionError(told, unknown[0], tuple(defaults))
    found: dict[str, Any] = {**defaults, **given}
    for name, default in defaults.items():
        value = found[name]
        if isinstance(default, bool) and not isinstance(value, bool):
            raise OptionError(f"{name} is true or false, not {value}")
        if isinstance(default, float):
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if not number or not _LEAST_BITS <= value <= _MOST_BITS:
                allowed = f"a number of bits from {_LEAST_BITS} to {_MOST_BITS}"
                raise OptionError(f"{name} is {allowed}, not {value}")
            found[name] = float(value)
    for name, (least, most, unit) in (wholes or {}).items():
        value = found[name]
        if type(value) is not int or not least <= value <= most:
            raise OptionError(f"{name} is a number of {unit} from {least} to {most}, not {value}")
    return found


def options_over_texts(
    kind: str, type_: str, given: Options, defaults: Options, wholes: Mapping[str, Range]
) -> dict[str, Any]:
    """The same of a kind over texts; NotIndexableError for a column of another type."""
    if type_ != "string":
        raise NotIndexableError(f"{kind} takes strings, no column of the type {type_}")
    return options_of(kind, given, defaults, wholes)


class IndexedColumn(Struct, frozen=True):
    """The indexed column in one data file: its Spark type, and rows of each row group."""

    type: str
    row_groups: tuple[int, ...]

    @property
    def rows(self) -> int:
        """Of the file."""
        return sum(self.row_groups)


class Blob(Struct, frozen=True):
    """Bytes as a sidecar keeps them; `type` names the format and its version, e.g. `acc-sbbf-v1`.

    `light`: whether the planner wants it at hand. `properties` say all that reading it takes.
    """

    type: str
    data: bytes
    light: bool
    properties: Mapping[str, str] = field(default_factory=dict)


class ColumnIndexer(Protocol):
    """Takes one column of one file in order."""

    def add(self, values: pa.Array) -> None:
        """The values of the next row group, or the next part of it, in their domain."""
        ...

    def finish(self) -> Sequence[Blob]:
        """The blobs; none where an index of this kind couldn't skip anything."""
        ...


class Kind(Protocol):
    """A sort of index."""

    @property
    def name(self) -> str:
        """As in `CREATE INDEX … USING`."""
        ...

    def options(self, type_: str, given: Options) -> Options:
        """All options of an index over a column of that Spark type, defaults filled in.

        OptionError for one that isn't known or is out of range, NotIndexableError for the type.
        """
        ...

    def builder(self, column: IndexedColumn, options: Options) -> ColumnIndexer:
        """To build one file's index."""
        ...

    def asked(self, question: Question, type_: str, options: Options) -> Asked | None:
        """What a light blob of any file must hold where a row may answer; None: it can't tell."""
        ...

    def probe(
        self, blob: Blob, read: Read, question: Question, column: IndexedColumn
    ) -> RowVerdict | None:
        """What a heavy blob tells of the rows of its file; None: it can't tell.

        `blob` comes without its data. ValueError for bytes that aren't such a blob.
        """
        ...
