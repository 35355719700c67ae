"""The kinds of index, one file each, by their names."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from indexes.kind import Kind
from indexes.kinds.bloom import BLOOM

KINDS: Mapping[str, Kind] = MappingProxyType({kind.name: kind for kind in (BLOOM,)})
