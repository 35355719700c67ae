"""Fields of structs: `client.agent.name` as the column that its own field id makes it.

Spark looks for the longest qualifier that a table has; the parts behind the column name fields, one
in the other, without case. What isn't a field of a struct, or may be two, raises `DeclinedError`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from sqlglot import exp

from rewrite.facts import ColumnFacts
from rewrite.ir.expr import Column, Expr
from rewrite.reason import DeclinedError

_WORD = re.compile(r"\w+", re.ASCII)
_QUALIFIER_MAX = 3
"""Parts of a table's full name: catalog, namespace and name."""

Find = Callable[[tuple[str, ...], str], Sequence[Column]]


def field_parts(node: exp.Expression) -> tuple[str, ...] | None:
    """Returns the names between the dots of a column, or of a field; None for anything else.

    The parser makes a column of up to four names, and a dot of each further one.
    """
    behind: list[str] = []
    while isinstance(node, exp.Dot) and isinstance(node.expression, exp.Identifier):
        behind.append(node.expression.name)
        node = node.this
    if not isinstance(node, exp.Column) or not isinstance(node.this, exp.Identifier):
        return None
    return (*(part.name for part in node.parts), *reversed(behind))


def root_of(parts: tuple[str, ...], find: Find) -> tuple[Column, tuple[str, ...]] | None:
    """Returns the column that has a field by the last parts, and these; None if there is none."""
    for length in range(min(_QUALIFIER_MAX, len(parts) - 2), -1, -1):
        found = find(parts[:length], parts[length])
        if len(found) > 1:
            written = ".".join(parts)
            raise DeclinedError("name_ambiguous", f"The column name {written}.", name=written)
        if found:
            return found[0], parts[length + 1 :]
    return None


def field_of(root: Column, facts: ColumnFacts, names: Sequence[str]) -> Column:
    """Returns the field of that column; DeclinedError if it isn't one that is read alike."""
    path, known = [root.name], facts
    for name in names:
        found = [field for field in known.fields if field.name.lower() == name.lower()]
        if len(found) != 1 or (found[0].required and not known.required):
            # Iceberg takes a needed field for one that is never NULL, whatever is around it.
            raise _unread([*path, name])
        known = found[0]
        path.append(known.name)
    if not all(_is_plain(name) for name in path):
        raise _unread(path)
    return Column(root.occurrence, known.field_id, ".".join(path), known.type, tuple(path))


def with_field_names(
    node: exp.Expression, column: Callable[[tuple[str, ...]], Expr]
) -> exp.Expression:
    """Returns the output with fields as single names, as Spark calls it by them.

    `column` binds the names between dots. An output that is a field alone is called by its last
    name.
    """
    alone = field_parts(node)
    if alone is not None:
        return exp.column(alone[-1]) if isinstance(node, exp.Dot) else node
    if not any(isinstance(one, exp.Dot) or one.args.get("table") for one in _named(node)):
        return node
    return node.copy().transform(lambda one: _single(one, column), copy=False)


def _named(node: exp.Expression) -> list[exp.Expression]:
    return list(node.find_all(exp.Column, exp.Dot))


def _single(node: exp.Expression, column: Callable[[tuple[str, ...]], Expr]) -> exp.Expression:
    parts = field_parts(node)
    bound = column(parts) if parts is not None and len(parts) > 1 else None
    if parts is None or not isinstance(bound, Column) or not bound.path:
        return node
    return exp.column(".".join(parts[-len(bound.path) :]))


def _is_plain(name: str) -> bool:
    return _WORD.fullmatch(name) is not None


def _unread(path: Sequence[str]) -> DeclinedError:
    return DeclinedError("expression_unsupported", f"The field {'.'.join(path)}.")
