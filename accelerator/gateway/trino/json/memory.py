"""Loads and stores at addresses, aligned or not, for compiled code that writes bytes in bulk.

Numba's own arrays read and write one element of their type, at multiples of its size: a number's
eight digits would be eight stores. Nothing here is checked: whoever gives an address knows that so
many bytes are there. Bytes are in the order of machines of today, the lowest first.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

_WORD = ir.IntType(64)


def _loading(bits: int) -> Any:
    @intrinsic
    def load(_typing, _address):
        def codegen(_context, builder, _signature, given):
            place = builder.inttoptr(given[0], ir.IntType(bits).as_pointer())
            found = builder.load(place)
            found.align = 1
            return found if bits == 64 else builder.zext(found, _WORD)

        return types.uint64(types.int64), codegen

    return load


def _storing(bits: int) -> Any:
    @intrinsic
    def store(_typing, _address, _value):
        def codegen(context, builder, _signature, given):
            kind = ir.IntType(bits)
            value = given[1] if bits == 64 else builder.trunc(given[1], kind)
            stored = builder.store(value, builder.inttoptr(given[0], kind.as_pointer()))
            stored.align = 1
            return context.get_dummy_value()

        return types.void(types.int64, types.uint64), codegen

    return store


load8, load16, load32, load64 = (_loading(bits) for bits in (8, 16, 32, 64))
"""The number of so many bits at the address, without a sign."""
store8, store16, store32, store64 = (_storing(bits) for bits in (8, 16, 32, 64))
"""Writes the lowest so many bits of a number to the address."""


@intrinsic
def trailing_zeros(_typing, _value):
    """Counts how many of a number's lowest bits are 0; 64 for 0."""

    def codegen(_context, builder, _signature, given):
        return builder.cttz(given[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(types.uint64), codegen
