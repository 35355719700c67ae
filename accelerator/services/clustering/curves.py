"""Places of cells on curves through a grid of any dimensions: Z-order, and Hilbert's.

A cell is given by one rank for each dimension, a place is one number: cells that lie near each
other on the curve lie near each other in the grid. Hilbert's curve visits each cell once, each a
neighbour of the one before; the Z-order is cheaper and makes jumps. After J. Skilling, Programming
the Hilbert curve (2004), for all rows at once.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

Ranks = npt.NDArray[np.uint64]
_BITS_MAX = 16
_PLACE_BITS = 63
_ONE = np.uint64(1)


def bits_of(dimensions: int) -> int:
    """So many bits each dimension's ranks may have: a place is a bigint that isn't negative.

    >>> [bits_of(n) for n in (1, 2, 4, 8)]
    [16, 16, 15, 7]
    """
    return min(_BITS_MAX, _PLACE_BITS // dimensions)


def zorder(ranks: Sequence[Ranks], bits: int) -> npt.NDArray[np.int64]:
    """The ranks' bits one after the other, the highest of all dimensions first."""
    places = np.zeros_like(ranks[0])
    for bit in reversed(range(bits)):
        for one in ranks:
            places = (places << _ONE) | ((one >> np.uint64(bit)) & _ONE)
    return places.astype(np.int64)


def hilbert(ranks: Sequence[Ranks], bits: int) -> npt.NDArray[np.int64]:
    """How many steps along Hilbert's curve each cell is away from its begin."""
    axes = [one.copy() for one in ranks]
    for bit in reversed(range(1, bits)):
        _unfold(axes, np.uint64(1 << bit))
    for before, axis in itertools.pairwise(axes):
        np.bitwise_xor(axis, before, out=axis)
    turned = np.zeros_like(axes[0])
    for bit in reversed(range(1, bits)):
        one = np.uint64(1 << bit)
        turned ^= np.where(axes[-1] & one, one - _ONE, np.uint64(0))
    return zorder([axis ^ turned for axis in axes], bits)


def _unfold(axes: list[Ranks], one: np.uint64) -> None:
    """Undoes how the curve is mirrored or turned inside the halves of that bit, in place."""
    below = one - _ONE
    for axis in axes:
        upper = (axis & one) != 0
        swapped = np.where(upper, np.uint64(0), (axes[0] ^ axis) & below)
        axes[0] ^= np.where(upper, below, swapped)
        if axis is not axes[0]:
            np.bitwise_xor(axis, swapped, out=axis)


CURVES: Mapping[str, Callable[[Sequence[Ranks], int], npt.NDArray[np.int64]]] = {
    "zorder": zorder,
    "hilbert": hilbert,
}
