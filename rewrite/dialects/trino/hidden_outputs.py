"""ORDER BY of a grouped SELECT as Spark takes it, if it has windows, or HAVING by an aggregate.

Spark resolves such an ORDER BY against the outputs alone. So an expression that is an output is
written as its place. Any other is computed as one more output of a derived table, over which the
given outputs are selected in that order.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from rewrite.dialects.rule import Context, UnsureMeaningError
from rewrite.dialects.scopes import ALIAS, BOTH, RESOLVED

_MOVED = ("with_", "order", "limit", "offset")
_TABLE = "acc_grouped"
_HIDDEN = "acc_order"
_OUTPUT = "acc_output"


def ordered_by_outputs(
    select: exp.Select, context: Context, *, is_renamable: bool
) -> exp.Select | None:
    """The SELECT with an ORDER BY that names outputs alone; None if it stays as it is.

    The SELECT itself is changed. `is_renamable`: the names of the outputs don't matter.
    UnsureMeaningError if the outputs can't be selected from a derived table.
    """
    order = select.args.get("order")
    if order is None or not _is_projected(select):
        return None
    changed = False
    for item in order.expressions:
        place = _place(item.this, select.expressions)
        if place is not None:
            item.set("this", exp.Literal.number(place))
            changed = True
    hidden = [item for item in order.expressions if _is_hidden(item.this, select)]
    if not hidden:
        return select if changed else None
    if select.args.get("distinct") is not None or any(one.is_star for one in select.expressions):
        raise UnsureMeaningError(
            "it's ordered by what isn't an output, beside * or DISTINCT", "select that as well"
        )
    return _over_derived_table(select, hidden, context, is_renamable=is_renamable)


def _is_projected(select: exp.Select) -> bool:
    """Decides whether Spark computes the outputs above the groups, unseen by ORDER BY."""
    if _own(select.args.get("having"), exp.AggFunc):
        return True
    outputs = select.expressions
    is_grouped = select.args.get("group") is not None
    windows = [one for output in outputs for one in _own(output, exp.Window)]
    return bool(windows) and (is_grouped or any(_own(one, exp.AggFunc) for one in outputs))


def _own(node: exp.Expr | None, type_: type[exp.Expr]) -> list[exp.Expr]:
    """The nodes of a type that are of this SELECT, and not of a query inside of it."""
    if node is None:
        return []
    found = node.walk(prune=lambda one: isinstance(one, exp.Query))
    return [one for one in found if isinstance(one, type_)]


def _place(item: exp.Expr, outputs: Sequence[exp.Expr]) -> int | None:
    """The place of the output that an expression over columns of FROM repeats."""
    if isinstance(item, (exp.Column, exp.Literal)) or _names_output(item):
        return None
    if any(one.is_star for one in outputs):
        return None
    inner = [one.this if isinstance(one, exp.Alias) else one for one in outputs]
    return inner.index(item) + 1 if item in inner else None


def _names_output(node: exp.Expr) -> bool:
    return any(one.meta_get(RESOLVED) in (ALIAS, BOTH) for one in node.find_all(exp.Column))


def _is_hidden(item: exp.Expr, select: exp.Select) -> bool:
    """Decides whether Spark can't find it: an aggregate, or beside windows one over groups."""
    if _own(item, exp.AggFunc):
        return True
    has_windows = any(_own(output, exp.Window) for output in select.expressions)
    return (
        has_windows and not isinstance(item, (exp.Column, exp.Literal)) and not _names_output(item)
    )


def _over_derived_table(
    select: exp.Select,
    hidden: Sequence[exp.Expr],
    context: Context,
    *,
    is_renamable: bool,
) -> exp.Select:
    names = [_name(one) for one in select.expressions]
    if is_renamable:
        names = [f"{_OUTPUT}_{at}" for at in range(len(names))]
    if not all(names) or len({one.lower() for one in names}) < len(names):
        raise UnsureMeaningError(
            "it's ordered by what isn't an output, and not all outputs have a name of their own",
            "give each output a name",
        )
    outer = exp.Select()
    outputs: list[exp.Expr] = []
    inner: list[exp.Expr] = []
    for name, output in zip(names, select.expressions, strict=True):
        value = output.this if isinstance(output, exp.Alias) else output
        outputs.append(_column(name))
        context.meaning(value).mark(outputs[-1])
        inner.append(_named(value.copy(), name))
    own = {_name(one).lower(): at for at, one in enumerate(select.expressions, 1)}
    for item in select.args["order"].expressions:
        value = item.this
        if isinstance(value, exp.Column) and len(value.parts) == 1 and value.name.lower() in own:
            item.set("this", exp.Literal.number(own[value.name.lower()]))
        elif any(item is one for one in hidden) or isinstance(value, exp.Column):
            if _names_output(value):
                raise UnsureMeaningError(
                    "it's ordered by an aggregate and an output in one", "give their sum a name"
                )
            name = f"{_HIDDEN}_{len(inner)}"
            inner.append(_named(value.copy(), name))
            item.set("this", _column(name))
        elif not isinstance(value, exp.Literal):
            raise UnsureMeaningError(
                "it's ordered by outputs and by an aggregate that is none", "select it as well"
            )
    for part in _MOVED:
        outer.set(part, select.args.get(part))
        select.set(part, None)
    grouped = select.copy()
    grouped.set("expressions", inner)
    outer.set("expressions", outputs)
    alias = exp.TableAlias(this=exp.to_identifier(_TABLE))
    outer.set("from_", exp.From(this=exp.Subquery(this=grouped, alias=alias)))
    return outer


def _name(output: exp.Expr) -> str:
    """The name of an output; empty if it has none."""
    return output.alias_or_name if isinstance(output, (exp.Alias, exp.Column)) else ""


def _column(name: str) -> exp.Column:
    return exp.Column(this=exp.to_identifier(name, quoted=True))


def _named(value: exp.Expr, name: str) -> exp.Expr:
    return exp.Alias(this=value, alias=exp.to_identifier(name, quoted=True))
