"""What a column's name stands for: Spark's order of look-up over FROM, aliases and outputs.

A name that Spark would find ambiguous, or that it could read in two ways, raises `DeclinedError`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from rewrite.bind.names.nested_fields import field_of, root_of
from rewrite.ir.block import Occurrence, Selection
from rewrite.ir.expr import Column, Expr
from rewrite.reason import DeclinedError
from rewrite.text.suggestions import closest, did_you_mean

Visible = Occurrence | Selection
"""What FROM shows to names."""


class ColumnScope:
    """Column look-up over the occurrences of FROM.

    `hidden` columns, which USING has merged with another, are found only by a qualified name.
    `zone` is the session's time zone, in which times without an offset are read.
    """

    def __init__(
        self,
        occurrences: Sequence[Visible],
        hidden: Collection[Column] = frozenset(),
        zone: str | None = None,
        *,
        inside: bool = False,
    ) -> None:
        """`inside` another query, whose columns a name may mean."""
        self.zone, self._inside = zone, inside
        self._occurrences, self._hidden = occurrences, frozenset(hidden)
        self._found: dict[tuple[tuple[str, ...], str], tuple[Column, ...]] = {}

    def find(self, qualifier: tuple[str, ...], name: str) -> tuple[Column, ...]:
        """Every column that the name may mean; looked up once, since statements repeat names."""
        key = (qualifier, name)
        known = self._found.get(key)
        if known is None:
            known = self._found[key] = tuple(self._search(qualifier, name))
        return known

    def _search(self, qualifier: tuple[str, ...], name: str) -> Iterator[Column]:
        for occurrence in self._occurrences:
            if not _qualifies(occurrence, qualifier):
                continue
            for column in occurrence.named(name):
                if qualifier or column not in self._hidden:
                    yield column

    def _field(self, root: Column, names: tuple[str, ...]) -> Column:
        pairs = ((one, one.facts(root)) for one in self._occurrences)
        own, facts = next((one, facts) for one, facts in pairs if facts is not None)
        column = field_of(root, facts, names)
        if any(own.named(column.name)):
            written = column.name
            raise DeclinedError("name_ambiguous", f"A field and a column {written}.", name=written)
        return column

    def column(self, qualifier: tuple[str, ...], name: str) -> Column:
        """The one column that the name means."""
        found = self.find(qualifier, name)
        if len(found) == 1:
            return found[0]
        written = ".".join((*qualifier, name))
        inside = root_of((*qualifier, name), self.find) if qualifier and not found else None
        if inside is not None:
            return self._field(*inside)
        if found:
            raise DeclinedError("name_ambiguous", f"The column name {written}.", name=written)
        if self._inside or name.startswith("_"):  # Iceberg's own: _file, _pos
            raise DeclinedError("expression_unsupported", f"The column name {written}.")
        known = (own for each in self._occurrences for own, _ in each.named_columns)
        near = closest(name, known)
        detail = f"No table here has a column {written}"
        meant = f"; {did_you_mean(near)}" if near else "."
        raise DeclinedError("column_unknown", f"{detail}{meant}", name=written, near=near)


def _qualifies(occurrence: Visible, qualifier: tuple[str, ...]) -> bool:
    """Whether the qualifier is the end of the table's path: d.f and f both mean lake.d.f."""
    if not qualifier:
        return True
    end = occurrence.path[-len(qualifier) :]
    return [part.lower() for part in end] == [part.lower() for part in qualifier]


class AliasNames:
    """GROUP BY: input columns first, then the SELECT list's aliases."""

    def __init__(self, names: ColumnScope, aliases: Mapping[str, Expr | None]) -> None:
        """`aliases` in lower case; None for one that two outputs have."""
        self._names, self._aliases, self.zone = names, aliases, names.zone

    def names_something(self, name: str) -> bool:
        """Decides whether an input column or an alias has that name, ambiguous or not."""
        return name.lower() in self._aliases or bool(self._names.find((), name))

    def output(self, name: str) -> Expr | None:
        """The output of that alias, None if there is none; DeclinedError if there are two."""
        found = self._aliases.get(name.lower())
        if found is None and name.lower() in self._aliases:
            raise DeclinedError("name_ambiguous", f"Two outputs are called {name}.")
        return found

    def column(self, qualifier: tuple[str, ...], name: str) -> Expr:
        """The input column, or the output of that alias."""
        if qualifier or self._names.find(qualifier, name):
            return self._names.column(qualifier, name)
        return self.output(name) or self._names.column(qualifier, name)


class OutputNames(AliasNames):
    """HAVING and ORDER BY: a name that could be an output or another column isn't guessed.

    In ORDER BY without aggregates it's the output (`outputs_first`).
    """

    _first = False

    def outputs_first(self) -> OutputNames:
        """The same names, where an output's name is never another column's."""
        found = OutputNames(self._names, self._aliases)
        found._first = True
        return found

    def column(self, qualifier: tuple[str, ...], name: str) -> Expr:
        """The output of that alias, or the input column."""
        alias = None if qualifier else self.output(name)
        if alias is None:
            found = self._names.column(qualifier, name)
            if (
                qualifier
                and found not in self._aliases.values()
                and qualifier[0].lower() in self._aliases
            ):
                written = ".".join((*qualifier, name))
                raise DeclinedError(
                    "name_ambiguous", f"A field of an output: {written}.", name=written
                )
            return found
        others = () if self._first else self._names.find(qualifier, name)
        if any(found != alias for found in others):
            raise DeclinedError("name_ambiguous", f"The name {name} is an output and a column.")
        return alias
