"""A cube seen from a statement: its expressions in the statement's table occurrences.

It depends on the mapping of occurrences alone, so it is kept and used again.
"""

from __future__ import annotations

from collections.abc import Mapping, Set

from msgspec import Struct

from cubes.definition import CubeDefinition
from cubes.match.dimension_expressions import Expressed
from rewrite.ir.block import Classes
from rewrite.ir.expr import Column, Expr, canonical, transform

_ABSENT = 10_000
"""Occurrence numbers from here on stand for tables that only the cube has."""


class OccurrenceView(Struct, frozen=True):
    """`conjuncts` hold on every row of the cube, as do `classes`; `done` are their canonical forms.

    `states` finds a stored state by kind, canonical argument and canonical filter.
    """

    conjuncts: tuple[Expr, ...]
    classes: Classes
    done: frozenset[Expr]
    expressed: Expressed
    states: Mapping[tuple[str, Expr | None, Expr | None], int]

    @classmethod
    def of(
        cls,
        cube: CubeDefinition,
        inverse: Mapping[int, int],
        padded: tuple[Expr, ...],
        delta: Set[int] = frozenset(),
    ) -> OccurrenceView:
        """The view under a mapping of the cube's occurrences; `padded` conjuncts hold as well.

        Columns of the `delta`'s occurrences stand for themselves.
        """
        own = tuple(translated(c, inverse) for c in cube.conjuncts)
        classes = Classes.of(own + padded)
        dimensions = [translated(d.expr, inverse) for d in cube.dimensions]

        def key(expr: Expr | None) -> Expr | None:
            return None if expr is None else canonical(translated(expr, inverse), classes.find)

        return cls(
            own,
            classes,
            frozenset(canonical(c, classes.find) for c in own + padded),
            Expressed(cube, dimensions, classes, delta),
            {(s.kind, key(s.argument), key(s.where)): i for i, s in enumerate(cube.states)},
        )


def translated(expr: Expr, inverse: Mapping[int, int]) -> Expr:
    """The cube's expression with the statement's occurrence numbers."""

    def change(node: Expr) -> Expr | None:
        if isinstance(node, Column):
            occurrence = inverse.get(node.occurrence, _ABSENT + node.occurrence)
            return Column(occurrence, node.field_id, node.name, node.type, node.path)
        return None

    return transform(expr, change)
