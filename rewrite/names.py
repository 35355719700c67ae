"""What a column's name stands for: Spark's order of look-up over FROM, aliases and outputs.

A name that Spark would find ambiguous, or that it could read in two ways, raises `DeclinedError`.
"""

from __future__ import annotations

from rewrite.block import Occurrence
from rewrite.expr import Column, Expr
from rewrite.reason import DeclinedError


class Names:
    """Column look-up over the occurrences of FROM."""

    def __init__(self, occurrences: list[Occurrence]) -> None:
        self._occurrences = occurrences

    def find(self, qualifier: tuple[str, ...], name: str) -> list[Column]:
        """Every column that the name may mean."""
        found = []
        for occurrence in self._occurrences:
            if not _qualifies(occurrence, qualifier):
                continue
            column = occurrence.table.column(name)
            if column is not None:
                found.append(Column(occurrence.index, column.field_id, column.name, column.type))
        return found

    def column(self, qualifier: tuple[str, ...], name: str) -> Expr:
        """The one column that the name means."""
        found = self.find(qualifier, name)
        if len(found) == 1:
            return found[0]
        code = "name_ambiguous" if found else "expression_unsupported"
        raise DeclinedError(code, f"The column name {'.'.join((*qualifier, name))}.")


def _qualifies(occurrence: Occurrence, qualifier: tuple[str, ...]) -> bool:
    """Whether the qualifier is the end of the table's path: d.f and f both mean lake.d.f."""
    if not qualifier:
        return True
    end = occurrence.path[-len(qualifier) :]
    return [part.lower() for part in end] == [part.lower() for part in qualifier]


class AliasNames:
    """GROUP BY: input columns first, then the SELECT list's aliases."""

    def __init__(self, names: Names, aliases: dict[str, Expr]) -> None:
        self._names, self._aliases = names, aliases

    def column(self, qualifier: tuple[str, ...], name: str) -> Expr:
        """The input column, or the output of that alias."""
        alias = None if qualifier else self._aliases.get(name.lower())
        if alias is not None and not self._names.find(qualifier, name):
            return alias
        return self._names.column(qualifier, name)


class OutputNames(AliasNames):
    """HAVING and ORDER BY: a name that could be an output or another column isn't guessed."""

    def column(self, qualifier: tuple[str, ...], name: str) -> Expr:
        """The output of that alias, or the input column."""
        alias = None if qualifier else self._aliases.get(name.lower())
        if alias is None:
            return self._names.column(qualifier, name)
        if any(found != alias for found in self._names.find(qualifier, name)):
            raise DeclinedError("name_ambiguous", f"The name {name} is an output and a column.")
        return alias
