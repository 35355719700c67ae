"""A statement in parts, so that it can be written, compared by what must hold, and made smaller."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Output:
    """An item of SELECT: `exact` where both answers have the same value, `estimate` only nearly."""

    text: str
    alias: str | None = None
    exact: bool = True
    estimate: bool = False

    @property
    def written(self) -> str:
        """With its alias."""
        return f"{self.text} AS {self.alias}" if self.alias else self.text


@dataclass(frozen=True)
class Sort:
    """An item of ORDER BY: the output that it sorts by, how that is written, and the direction."""

    output: int
    by_position: bool
    direction: str


@dataclass(frozen=True)
class Select:
    """A SELECT, and the text around it (`wrap`, with `{}` for it). All of it is SQL.

    `generator` is the name of the generator that has made it.
    """

    outputs: tuple[Output, ...]
    source: str
    where: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    grouped_as: str = "texts"  # or positions, aliases, ROLLUP, CUBE
    having: tuple[str, ...] = ()
    order: tuple[Sort, ...] = ()
    limit: int | None = None
    offset: int = 0
    distinct: bool = False
    wrap: str = "{}"
    generator: str = ""

    @property
    def text(self) -> str:
        """As SQL."""
        parts = [
            f"SELECT {'DISTINCT ' if self.distinct else ''}"
            f"{', '.join(o.written for o in self.outputs)} FROM {self.source}"
        ]
        if self.where:
            both = len(self.where) > 1
            parts.append("WHERE " + " AND ".join(f"({w})" if both else w for w in self.where))
        if self.groups:
            parts.append(f"GROUP BY {self._groups()}")
        if self.having:
            parts.append("HAVING " + " AND ".join(f"({h})" for h in self.having))
        if self.order:
            parts.append("ORDER BY " + ", ".join(map(self._sort, self.order)))
        if self.limit is not None:
            parts.append(f"LIMIT {self.limit}")
        if self.offset:
            parts.append(f"OFFSET {self.offset}")
        return self.wrap.replace("{}", " ".join(parts))

    def _groups(self) -> str:
        if self.grouped_as in ("ROLLUP", "CUBE"):
            return f"{self.grouped_as} ({', '.join(self.groups)})"
        if self.grouped_as == "SETS":
            return f"GROUPING SETS ({', '.join(f'({g})' for g in self.groups)}, ())"
        places = {o.text: n for n, o in reversed(list(enumerate(self.outputs)))}
        written = []
        for group in self.groups:
            place = places.get(group)
            alias = None if place is None else self.outputs[place].alias
            if self.grouped_as == "positions" and place is not None:
                written.append(str(place + 1))
            elif self.grouped_as == "aliases" and alias:
                written.append(alias)
            else:
                written.append(group)
        return ", ".join(written)

    def _sort(self, sort: Sort) -> str:
        output = self.outputs[sort.output]
        by = str(sort.output + 1) if sort.by_position else output.alias or output.text
        return f"{by}{sort.direction}"

    @property
    def total(self) -> bool:
        """Whether ORDER BY leaves no rows that tie: by all keys of the groups."""
        sorted_ = {self.outputs[s.output].text for s in self.order}
        if self.groups and self.grouped_as in ("texts", "positions", "aliases"):
            return set(self.groups) <= sorted_
        return self.distinct and len(sorted_) == len(self.outputs)

    def smaller(self) -> Iterator[Select]:
        """The statement with one part less each, the coarsest cuts first."""
        if self.wrap != "{}":
            yield replace(self, wrap="{}")
        if self.limit is not None or self.offset:
            yield replace(self, limit=None, offset=0)
        elif self.order:
            yield replace(self, order=())
        for n in range(len(self.having)):
            yield replace(self, having=self.having[:n] + self.having[n + 1 :])
        for n in range(len(self.where)):
            yield replace(self, where=self.where[:n] + self.where[n + 1 :])
        for n, group in enumerate(self.groups):
            kept = tuple(o for o in self.outputs if o.text != group)
            if kept:
                yield replace(self._with(kept), groups=self.groups[:n] + self.groups[n + 1 :])
        if len(self.outputs) > 1:
            for output in self.outputs:
                yield self._with(tuple(o for o in self.outputs if o != output))
        if self.distinct:
            yield replace(self, distinct=False)

    def _with(self, outputs: tuple[Output, ...]) -> Select:
        sorted_ = [(s, self.outputs[s.output]) for s in self.order]
        order = tuple(replace(s, output=outputs.index(o)) for s, o in sorted_ if o in outputs)
        return replace(self, outputs=outputs, order=order)
