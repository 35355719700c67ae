"""SELECTs that stand inside a statement, as places in its text.

They are found among its tokens, so that what stands around them can stay as it was written: items
of WITH, branches of set operations, and whatever stands in parentheses and begins with SELECT or
WITH. A place's text is a statement of its own, but for the names that a WITH around it defines;
what it needs of these stands in front of it. A SELECT that refers to the query around it can't be
bound alone, and so isn't answered alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from functools import cached_property

from msgspec import Struct
from sqlglot import TokenType

from rewrite.parse.bounds import tokens_of
from rewrite.reason import DeclinedError
from rewrite.rules.derived_tables import SELECTS_MAX

_SET = frozenset({TokenType.UNION, TokenType.INTERSECT, TokenType.EXCEPT})
_BEGIN = frozenset({TokenType.SELECT, TokenType.WITH})
_NAMES = frozenset({TokenType.VAR, TokenType.IDENTIFIER})
_ENDS = frozenset(
    {TokenType.ORDER_BY, TokenType.SORT_BY, TokenType.CLUSTER_BY, TokenType.DISTRIBUTE_BY}
)
"""What may follow the last branch of a set operation, and belongs to the whole."""
_UNCLEAR = frozenset({TokenType.LIMIT, TokenType.OFFSET, TokenType.WINDOW})
"""What may do so as well, but may also be a name: then where the branch ends isn't known."""


class SelectSpan(Struct, frozen=True):
    """A SELECT from `start` up to `end` in the text.

    `text` is it as it stands there, `sql` as a statement, with what it needs of a WITH around it.
    """

    start: int
    end: int
    text: str
    sql: str


class _Item(Struct, frozen=True):
    """An item of WITH: its name in lower case, its text, and the names in it."""

    name: str
    text: str
    named: frozenset[str]


class _Region(Struct, frozen=True):
    """Tokens from `first` up to `last` that are a query, in the sight of items of WITH."""

    first: int
    last: int
    items: tuple[_Item, ...]


def replaced(
    text: Text, answered: Callable[[SelectSpan], bool]
) -> tuple[tuple[str, ...], tuple[SelectSpan, ...]]:
    """The text's pieces around the SELECTs that are `answered`, outermost first, and these.

    The whole statement is never one of them; no more are asked than a statement may have.
    DeclinedError where the text isn't understood.
    """
    sql = text.sql
    places = sorted(text.places(answered), key=lambda place: place.start)
    starts = (0, *(place.end for place in places))
    ends = (*(place.start for place in places), len(sql))
    return tuple(sql[a:b] for a, b in zip(starts, ends, strict=True)), tuple(places)


class Text:
    """A statement's tokens; DeclinedError where its parentheses don't match."""

    def __init__(self, sql: str) -> None:
        tokens = tokens_of(sql, "spark")
        if tokens and tokens[-1].token_type == TokenType.SEMICOLON:
            tokens = tokens[:-1]
        self.sql, self._tokens = sql, tokens
        self._closing: dict[int, int] = {}
        self._parts: dict[tuple[int, int], list[tuple[int, int]]] = {}
        opened: list[int] = []
        for number, token in enumerate(tokens):
            if token.token_type == TokenType.L_PAREN:
                opened.append(number)
            elif token.token_type == TokenType.R_PAREN:
                if not opened:
                    raise _unclear()
                self._closing[opened.pop()] = number
        if opened:
            raise _unclear()

    def places(self, answered: Callable[[SelectSpan], bool]) -> Iterator[SelectSpan]:
        """Those that are answered, outermost first."""
        waiting, asked = [(_Region(0, len(self._tokens), ()), True)], 0
        while waiting and asked < SELECTS_MAX:
            region, whole = waiting.pop()
            place = None if whole else self._place(region)
            asked += place is not None
            if place is not None and answered(place):
                yield place
            else:
                waiting += [(one, False) for one in reversed([*self._inner(region)])]

    def selects(self) -> Iterator[tuple[int, int]]:
        """All SELECTs, each as the number of its first token and of that behind its last one."""
        waiting, seen = [_Region(0, len(self._tokens), ())], set[tuple[int, int]]()
        while waiting and len(seen) < SELECTS_MAX:
            region = waiting.pop()
            body = region.first
            if self._type(body) == TokenType.WITH:
                body = self._with(region)[1]
            branches = self._branches(body, region.last)
            for first, last in branches:
                whole = len(branches) == 1 and self._type(first) == TokenType.SELECT
                if (whole or self._is_select(first, last)) and (first, last) not in seen:
                    seen.add((first, last))
                    yield first, last
            waiting += reversed([*self._inner(region)])

    def place_of(self, kind: TokenType) -> tuple[int, int]:
        """Where the first such token begins and ends; DeclinedError where there is none."""
        found = next((token for token in self._tokens if token.token_type == kind), None)
        if found is None:
            raise _unclear()
        return found.start, found.end + 1

    def has_own(self, kind: TokenType, first: int, last: int) -> bool:
        """Whether such a token is among these, outside of SELECTs in parentheses."""
        number = first
        while number < last:
            if self._type(number) == kind:
                return True
            inner = number in self._closing and self._begins(number + 1)
            number = self._closing[number] if inner else number + 1
        return False

    def span(self, first: int, last: int) -> tuple[int, int]:
        """Where these tokens begin and end in the text."""
        return self._tokens[first].start, self._tokens[last - 1].end + 1

    def span_of_all(self) -> tuple[int, int]:
        """The same of all tokens."""
        return self.span(0, len(self._tokens))

    def end_of_call(self, start: int, *, filtered: bool) -> int:
        """Where the call whose name begins there ends in the text, with its FILTER."""
        number = next((i for i, t in enumerate(self._tokens) if t.start == start), None)
        closing = None if number is None else self._closing.get(number + 1)
        if closing is not None and filtered:
            is_filter = self._type(closing + 1) == TokenType.FILTER
            closing = self._closing.get(closing + 2) if is_filter else None
        if closing is None:
            raise _unclear()
        end: int = self._tokens[closing].end
        return end + 1

    def clauses(self, begin: TokenType, ends: Set[TokenType]) -> tuple[int, int]:
        """Where the first clause of that kind begins in the text, and the next one of `ends`.

        Both outside of parentheses; the end of the text where there is none of these.
        """
        start, number = None, 0
        while number < len(self._tokens):
            kind = self._type(number)
            if start is None and kind == begin:
                start = self._tokens[number].start
            elif start is not None and kind in ends:
                return start, self._tokens[number].start
            number = self._closing.get(number, number) + 1
        if start is None:
            raise _unclear()
        return start, len(self.sql)

    def _type(self, number: int) -> TokenType | None:
        return self._tokens[number].token_type if number < len(self._tokens) else None

    def _place(self, region: _Region) -> SelectSpan | None:
        """The region as a statement of its own; None of a set operation."""
        first, body, own = region.first, region.first, region.items
        if self._type(first) == TokenType.WITH:
            own, body = self._with(region)
        if self._type(body) != TokenType.SELECT or len(self._branches(body, region.last)) > 1:
            return None
        start, end = self._tokens[first].start, self._tokens[region.last - 1].end + 1
        items = self._needed(own, self._named(body, region.last)) if own else []
        select = self.sql[self._tokens[body].start : end]
        prefix = f"WITH {', '.join(item.text for item in items)} " if items else ""
        return SelectSpan(start, end, self.sql[start:end], prefix + select)

    def _inner(self, region: _Region) -> Iterator[_Region]:
        """The queries that stand in it."""
        body, items = region.first, region.items
        if self._type(body) == TokenType.WITH:
            items, body = self._with(region)
            yield from self._items(region, items)
        branches = self._branches(body, region.last)
        for first, last in branches:
            if len(branches) > 1 and self._is_select(first, last):
                yield _Region(first, last, items)
            else:
                yield from self._in_parentheses(first, last, items)

    def _in_parentheses(self, first: int, last: int, items: tuple[_Item, ...]) -> Iterator[_Region]:
        number = first
        while number < last:
            closing = self._closing.get(number)
            if closing is not None and self._begins(number + 1):
                yield _Region(number + 1, closing, items)
                number = closing
            number += 1

    def _is_select(self, first: int, last: int) -> bool:
        """Whether a branch is a SELECT that surely ends there."""
        if self._type(first) != TokenType.SELECT:
            return False
        number = first
        while number < last:
            number = self._closing.get(number, number)
            if self._type(number) in _UNCLEAR:
                return False
            number += 1
        return True

    def _begins(self, number: int) -> bool:
        return self._type(number) in _BEGIN

    def _branches(self, first: int, last: int) -> list[tuple[int, int]]:
        """The parts around set operators, without what follows the last one."""
        if (first, last) not in self._parts:
            self._parts[first, last] = self._branches_of(first, last)
        return self._parts[first, last]

    def _branches_of(self, first: int, last: int) -> list[tuple[int, int]]:
        cuts: list[tuple[int, int]] = []
        begin, number = first, first
        while number < last:
            if number in self._closing:
                number = self._closing[number]
            elif self._tokens[number].token_type in _SET and not self._is_column_list(number):
                cuts.append((begin, number))
                begin = number + 1
                while self._type(begin) in (TokenType.ALL, TokenType.DISTINCT):
                    begin += 1
                number = begin - 1
            number += 1
        end = last
        if cuts:
            number = begin
            while number < end:
                if number in self._closing:
                    number = self._closing[number]
                elif self._tokens[number].token_type in _ENDS:
                    end = number
                number += 1
        return [*cuts, (begin, end)]

    def _is_column_list(self, number: int) -> bool:
        """Of `* EXCEPT (a, b)`, which is no set operator."""
        before, behind = self._type(number - 1), self._type(number + 1)
        star = number > 0 and before == TokenType.STAR
        return star and behind == TokenType.L_PAREN and not self._begins(number + 2)

    def _with(self, region: _Region) -> tuple[tuple[_Item, ...], int]:
        """The items that its body sees, and where the body begins."""
        items, names = list(region.items), {item.name for item in region.items}
        number = region.first
        for first, _, number in self._with_items(region):
            name = self._tokens[first].text.lower()
            if name in names:
                raise _unclear()
            names.add(name)
            start, end = self._tokens[first].start, self._tokens[number].end + 1
            items.append(_Item(name, self.sql[start:end], self._named(first + 1, number)))
        return tuple(items), number + 1

    def _items(self, region: _Region, items: tuple[_Item, ...]) -> Iterator[_Region]:
        """The queries of its WITH, each with those of the `items` before it."""
        for seen, (_, opening, closing) in enumerate(self._with_items(region), len(region.items)):
            if self._begins(opening + 1):
                yield _Region(opening + 1, closing, items[:seen])

    def _with_items(self, region: _Region) -> Iterator[tuple[int, int, int]]:
        """The number of each item's name, and of the parentheses around its query."""
        number = region.first + 1
        while True:
            first = number
            if self._type(first) not in _NAMES:  # RECURSIVE, or a name that is a word as well
                raise _unclear()
            number += 1
            if number in self._closing:  # names of its columns
                number = self._closing[number] + 1
            if self._type(number) == TokenType.ALIAS:
                number += 1
            if number not in self._closing or self._closing[number] >= region.last:
                raise _unclear()
            opening, number = number, self._closing[number]
            yield first, opening, number
            if self._type(number + 1) != TokenType.COMMA:
                return
            number += 2

    def _named(self, first: int, last: int) -> frozenset[str]:
        """All words of these tokens, in lower case, that may be names."""
        return frozenset(self._words[first:last])

    @cached_property
    def _words(self) -> list[str]:
        return [token.text.lower() for token in self._tokens]

    @staticmethod
    def _needed(items: Sequence[_Item], named: frozenset[str]) -> list[_Item]:
        """The items that are named, or that those need, in their order."""
        found: list[_Item] = []
        for item in reversed(items):
            if item.name in named:
                found.insert(0, item)
                named |= item.named
        return found


def _unclear() -> DeclinedError:
    return DeclinedError("block_unsupported", "A statement whose parts aren't told apart.")
