"""The kinds of index, one file each, by their names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import pyarrow as pa

from indexes.kind import Blob, Clauses, IndexedColumn, Kind, Options
from indexes.kinds.bitmap import Bitmap
from indexes.kinds.bloom import BLOOM
from indexes.kinds.bounds import BOUNDS
from indexes.kinds.ngram_bitmap import NGRAM_BITMAP
from indexes.kinds.ngram_bloom import NGRAM_BLOOM
from indexes.kinds.range import RANGE
from indexes.kinds.token_bitmap import TOKEN_BITMAP
from indexes.kinds.token_bloom import TOKEN_BLOOM
from indexes.question import Question


class _FilterOfValues:
    """The light half of a BITMAP: BLOOM's filter over the dictionary, so that files are skipped."""

    _OPTIONS: Options = MappingProxyType({"bits_per_value": 10.5, "filter": "sbbf"})

    def blobs(self, distinct: pa.Array, column: IndexedColumn, nulls: int) -> Sequence[Blob]:
        """See `bitmap.Light`."""
        builder = BLOOM.builder(IndexedColumn(column.type, (len(distinct) + nulls,)), self._OPTIONS)
        builder.add(distinct)
        builder.add(pa.nulls(nulls, distinct.type))
        return builder.finish()

    def asked(self, question: Question, type_: str, options: Options) -> Clauses | None:
        """See `bitmap.Light`."""
        return BLOOM.asked(question, type_, options)


BITMAP = Bitmap(_FilterOfValues())
KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        kind.name: kind
        for kind in (
            *(BITMAP, BLOOM, BOUNDS, RANGE),
            *(NGRAM_BITMAP, NGRAM_BLOOM, TOKEN_BITMAP, TOKEN_BLOOM),
        )
    }
)
