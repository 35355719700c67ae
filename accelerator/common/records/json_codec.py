"""Records from JSON that anybody may have written: each field is checked by its annotation.

A field is read by its type and then by the checks of `Annotated[type, check, …]`, each a function
that returns the value or raises. Keys that no field has are later releases': they're ignored. A
field that earlier releases don't write is `Later[type]`, and has its default without them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sized
from functools import cache, partial
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, cast, get_args, get_origin, get_type_hints

from accelerator.common.records.json_checks import number, text_of, whole_of

_T = TypeVar("_T")
_S = TypeVar("_S", bound=Sized)


def later(value: Any) -> Any:
    """Checks nothing: the mark of `Later`."""
    return value


Later = Annotated[_T, later]


def read_as(kind: type[_T], raw: object) -> _T:
    """Reads a record; LookupError, TypeError or ValueError for anything else."""
    found: _T = _reader(cast(Any, kind))(raw)
    return found


def at_most(most: int, value: _S) -> _S:
    """Checks that a text, a list or an object isn't longer; ValueError if it is."""
    if len(value) > most:
        raise ValueError(f"{len(value)} characters or items")
    return value


def matching(pattern: re.Pattern[str], value: str) -> str:
    """Checks that a text has that form; ValueError if it hasn't."""
    if pattern.fullmatch(value) is None:
        raise ValueError("an id that can't be one")
    return value


@cache
def _reader(kind: Any) -> Callable[[Any], Any]:
    origin, args = get_origin(kind), get_args(kind)
    if origin is Annotated:
        steps = [_reader(args[0]), *(check for check in args[1:] if check is not later)]
        return steps[0] if len(steps) == 1 else partial(_through, steps)
    if origin is Literal:
        return partial(_one_of, args)
    if origin is UnionType:  # with None
        own = _reader(args[0])
        return lambda raw: None if raw is None else own(raw)
    if origin is tuple:
        readers = [_reader(one) for one in args if one is not Ellipsis]
        return partial(_tuple, readers, endless=Ellipsis in args)
    if origin is Mapping:
        key, own = map(_reader, args)
        return lambda raw: {key(name): own(one) for name, one in _typed(dict, raw).items()}
    return _PLAIN.get(kind) or partial(_fields, kind, _readers(kind))


def _readers(kind: Any) -> list[tuple[str, Callable[[Any], Any], bool]]:
    """Each field's name, its reader, and whether it has to be there."""
    types = get_type_hints(kind, include_extras=True)
    return [
        (name, _reader(types[name]), later not in get_args(types[name]))
        for name in kind.__struct_fields__
    ]


def _fields(kind: Any, readers: list[tuple[str, Callable[[Any], Any], bool]], raw: Any) -> Any:
    there = _typed(dict, raw)
    return kind(**{n: own(there[n]) for n, own, needed in readers if needed or n in there})


def _through(steps: list[Callable[[Any], Any]], raw: Any) -> Any:
    for step in steps:
        raw = step(raw)
    return raw


def _tuple(readers: list[Callable[[Any], Any]], raw: Any, *, endless: bool) -> tuple[Any, ...]:
    each = readers * len(_typed(list, raw)) if endless else readers
    return tuple(own(one) for own, one in zip(each, raw, strict=True))


def _typed(kind: Any, raw: Any) -> Any:
    if not isinstance(raw, kind):
        raise TypeError(f"expected {kind.__name__}, found {type(raw).__name__}")
    return raw


def _one_of(words: tuple[str, ...], raw: Any) -> Any:
    if raw not in words:
        raise ValueError("a word that isn't known")
    return raw


_PLAIN: Mapping[Any, Callable[[Any], Any]] = {
    Any: lambda raw: raw,
    bool: partial(_typed, bool),
    float: number,
    int: whole_of,
    str: text_of,
}
