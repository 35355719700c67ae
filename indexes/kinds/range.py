"""RANGE: files in which no value lies between two bounds, for comparisons, `=`, IN and prefixes.

One light blob a file, in one of three modes (`range/filters.py`), of which the file's own keys
choose (`range/choose.py`). NULLs are in none. A file has no blob where it could leave out next to
nothing: where its values lie side by side, where there's one value alone, or too many to be held.
docs/formats/range.md has the bytes.

Building holds the file's distinct keys, 8 bytes each, and twice that while they are sorted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from indexes.domains import BYTES, NotIndexableError, column_properties, domain_of
from indexes.inverted.dictionary import key_of, to_keys
from indexes.kind import Blob, IndexedColumn, Intervals, OptionError, Options, options_of
from indexes.question import Among, Compare, Like, Question, Within
from indexes.range.choose import chosen, distinct
from indexes.range.filters import MODES, Keys
from indexes.row_verdict import RowVerdict

DEFAULTS: Options = {"bits_per_value": 10.0, "mode": "auto"}
MOST_KEYS = 1 << 24
"""Distinct keys of a file beyond which it gets no blob."""
MOST_PREFIX = 255
_HALF = np.uint64(1 << 63)
_SORTED_AT = 1 << 20  # keys that wait before they are sorted among the others
_MOST_ASKED = 256
_REPLACEMENT = "\ufffd"  # what Spark may see in place of bytes that aren't UTF-8


class RangeKind:
    """The kind."""

    name = "RANGE"

    def options(self, type_: str, given: Options) -> Options:
        """All options: `bits_per_value`, 4 to 40, and `mode`."""
        if domain_of(type_) is None:
            raise NotIndexableError(f"RANGE takes no column of the type {type_}")
        found = options_of(self.name, given, DEFAULTS)
        mode = str(found["mode"]).lower()
        if mode not in ("auto", *MODES):
            raise OptionError(f"mode is auto, {', '.join(MODES)}, not {found['mode']}")
        return {**found, "mode": mode}

    def builder(self, column: IndexedColumn, options: Options) -> RangeBuilder:
        """To build one file's filter."""
        return RangeBuilder(column, options)

    def asked(self, question: Question, type_: str, options: Options) -> Intervals | None:
        """The keys that a match can have."""
        del options  # they change no key
        domain = domain_of(type_)
        if domain is None:
            return None
        match question:
            case Among(values):
                keys = [key_of(value, domain) for value in values]
                return None if None in keys else _each(keys)
            case Compare(op, value):
                key = key_of(value, domain)
                if key is None:
                    return None
                end = _moved(key, {"<": -1, ">": 1}.get(op, 0))
                return Intervals(((None, end),) if op in ("<", "<=") else ((end, None),))
            case Within(low, high, low_open, high_open):
                least, most = key_of(low, domain), key_of(high, domain)
                if least is None or most is None:
                    return None
                return Intervals(((_moved(least, low_open), _moved(most, -high_open)),))
            case Like(runs, starts=True, folded=False) if domain == BYTES:
                # Bytes that aren't UTF-8 match that character.
                prefix = runs[0].split(_REPLACEMENT)[0].encode()
                return Intervals(((prefix, _behind(prefix)),)) if prefix else None
        return None

    def probe(self, *_: object) -> RowVerdict | None:
        """It has no heavy blob."""
        return None


def _moved(key: Any, by: int) -> Any:
    """The next key, or the one before; of bytes the key itself, though that's one too many."""
    return key if isinstance(key, bytes) else key + by


def _each(keys: Sequence[Any]) -> Intervals:
    """Each key by itself; of very many some together, with what lies between."""
    ordered = sorted(set(keys))
    some = max(-(-len(ordered) // _MOST_ASKED), 1)
    parts = [ordered[at : at + some] for at in range(0, len(ordered), some)]
    return Intervals(tuple((part[0], part[-1]) for part in parts))


def _behind(prefix: bytes) -> bytes | None:
    """The least bytes above all that begin with the prefix; None where there are none."""
    kept = prefix.rstrip(b"\xff")
    return kept[:-1] + bytes([kept[-1] + 1]) if kept else None


class RangeBuilder:
    """Gathers one file's keys."""

    def __init__(self, column: IndexedColumn, options: Options) -> None:
        self._column = column
        self._bits, self._mode = float(options["bits_per_value"]), str(options["mode"])
        self._texts = domain_of(column.type) == BYTES
        self._prefix: bytes | None = None
        self._rows = self._nulls = self._waiting = 0
        # Sorted and distinct each; the first are all that don't wait. None: there are too many.
        self._keys: list[Keys] | None = [np.empty(0, dtype=np.uint64)]

    def add(self, values: pa.Array) -> None:
        """The values of the next rows, in their domain."""
        self._rows += len(values)
        self._nulls += values.null_count
        kept = values.drop_null() if values.null_count else values
        if self._keys is None or not len(kept):
            return
        if self._texts:
            found = self._of_texts(kept)
        else:
            numbers = to_keys(kept, str(domain_of(self._column.type))).to_numpy()
            found = numbers.view(np.uint64) ^ _HALF
        found.sort()
        self._keys.append(distinct(found))
        self._waiting += len(self._keys[-1])
        if self._waiting > max(_SORTED_AT, len(self._keys[0])):
            self._sort()

    def finish(self) -> Sequence[Blob]:
        """One blob, or none."""
        self._sort()
        if self._keys is None:
            return []
        keys = self._keys[0]
        found = chosen(keys, self._bits, self._mode, texts=self._texts)
        if found is None:
            return []
        type_, rates = self._column.type, found.rates
        said = {
            **column_properties(type_, self._rows, self._nulls),
            "ndv": str(len(keys)),
            "worst": f"{rates.worst:.6f}",
            "rate": f"{rates.mean:.6f}",
            "near": f"{rates.near:.6f}",
        }
        if self._prefix is not None:
            said["prefix"] = self._prefix.hex()
        return [found.filter.to_blob(said)]

    def _sort(self) -> None:
        if self._keys is None or len(self._keys) == 1:
            return
        together = np.concatenate(self._keys)
        together.sort()
        found = distinct(together)
        self._keys, self._waiting = [found] if len(found) <= MOST_KEYS else None, 0

    def _of_texts(self, texts: pa.Array) -> Keys:
        """Keys behind the prefix of all so far; those so far are others where it's shorter now."""
        from indexes.range import kernels

        offsets = np.frombuffer(texts.buffers()[1], dtype=np.int64)
        offsets = offsets[texts.offset : texts.offset + len(texts) + 1]
        data = np.frombuffer(texts.buffers()[2] or b"\0", dtype=np.uint8)
        known = self._prefix
        if known is None:
            known = data[offsets[0] : min(offsets[1], offsets[0] + MOST_PREFIX)].tobytes()
        ours = np.frombuffer(known or b"\0", dtype=np.uint8)
        shared = int(kernels.shared_length(data, offsets, ours, len(known)))
        if self._prefix is not None and shared < len(known):
            self._prepend(known[shared:])
        self._prefix = known[:shared]
        found = np.empty(len(texts), dtype=np.uint64)
        kernels.text_keys(data, offsets, np.uint64(shared), found)
        return found

    def _prepend(self, dropped: bytes) -> None:
        """The keys so far, with what is no longer in the prefix before them."""
        first = np.uint64(int.from_bytes(dropped[:8].ljust(8, b"\0"), "big"))
        by = np.uint64(8 * len(dropped))
        for at, keys in enumerate(self._keys or ()):
            moved = keys >> by if len(dropped) < 8 else np.zeros_like(keys)
            self._keys[at] = distinct(moved | first)  # type: ignore[index]


RANGE = RangeKind()
