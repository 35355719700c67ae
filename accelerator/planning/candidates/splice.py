"""Plans of a statement in which only some SELECTs are answered here; the rest is left to Spark.

What isn't understood of a statement, windows, set operations, scalar subqueries, joins of tables
with derived ones, functions of any kind, needs no understanding where its SELECTs over facts are
answered on their own: Spark reads their few rows in their place. A table that both read is the same
state to both. The last digits of a floating sum go by the order of its rows, so that it can't be
compared with what someone else has summed: it's answered only where Spark reads nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from itertools import islice

from sqlglot import exp
from sqlglot.errors import SqlglotError

from accelerator.planning.candidates.derived_tables import (
    answer_of,
    is_inexact,
    may_be_doubted,
    refused_input,
    unsigned_outputs,
)
from accelerator.planning.plans import Input, PartialPlan, PlainPlan, Plan
from rewrite.analysis.null_folding_unbound import has_null_in_test
from rewrite.bind.calls.known_words import may_aggregate
from rewrite.client import SPARK
from rewrite.facts import At, Facts
from rewrite.parse.parse import parse
from rewrite.reason import DeclinedError
from rewrite.rules.derived_tables import Answers, defined, meant, relations, with_visible
from rewrite.rules.set_operations import sorts_by_table
from rewrite.rules.splice.select_positions import SelectPositions, is_defined, visible_to
from rewrite.rules.splice.select_spans import SelectSpan, Text, replaced

_MARK = "acc_partial_"
_TRAVEL = ("version", "when")
_PARSED_TIMES, _PARSED_AT_LEAST = 3, 20_000
"""Of a statement's characters so many times as many are parsed to look for SELECTs in it."""
_TESTS = (exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.In, exp.Between)
_SIGN_KEEPING = (exp.AggFunc, exp.Case, exp.Coalesce, exp.Connector, exp.Exists, exp.If)
"""Functions whose value shows no sign of a zero but as a zero of that sign."""


def plan_partial(
    text: Text,
    tree: exp.Expression,
    plain: PlainPlan,
    facts: Facts,
    planned: Callable[[exp.Expression], Plan],
) -> PartialPlan | PlainPlan:
    """The plan with what `planned` answers; the `plain` one where that is nothing."""
    if not isinstance(tree, exp.Query) or _MARK in text.sql or not has_inner(tree):
        return plain
    if tree.find(exp.TableSample) is not None:  # what is drawn goes by how the rows lie
        return plain
    if has_null_in_test(tree):  # of which plain Spark may fail
        return plain
    found: dict[str, Input] = {}
    refused: set[int] = set()  # SELECTs of groups, by identity: what reads them isn't answered

    located = SelectPositions(tree)
    spent, allowed = 0, _PARSED_AT_LEAST + _PARSED_TIMES * len(text.sql)

    def answered(place: SelectSpan) -> bool:
        nonlocal spent
        if place.sql not in found:
            spent += len(place.text) + len(place.sql)
            if spent > allowed:
                return False
            inner = located.at(place.start, place.end)
            try:
                if inner is None or _is_sorted_by_table(inner) or _reads(inner, refused):
                    return False
                whole = _whole(inner)
                plan = planned(whole)
                if not _is_answer(plan):
                    refused.update([id(inner)] if _is_grouped(inner) else [])
                    return False
                alone = parse(place.text)
                if alone != inner:
                    return False  # a word that is a name here has cut it
                if place.sql == place.text:
                    plan = planned(inner)
                else:
                    written = parse(place.sql)
                    plan = plan if written == whole else planned(written)
            except (DeclinedError, SqlglotError):
                return False
            if not isinstance(plan, Input) or not _is_answer(plan):
                return False
            found[place.sql] = plan
        return True

    try:
        pieces, places = replaced(text, answered)
        if not places:
            return plain
        pieces, alone, tests = _pinned(pieces, places, found, facts)
        if tests and any(map(may_be_doubted, found.values())):
            return plain
        if any(map(is_inexact, found.values())) and not (alone and len(found) == 1):
            return plain
        if shows_signs(tree, found.values()):
            return plain
    except (DeclinedError, SqlglotError):
        return plain
    selects = tuple(place.sql for place in places)
    inputs = tuple(found[select] for select in selects)
    return PartialPlan(
        inputs=inputs, tried=plain.tried, pieces=pieces, selects=selects, declined=plain.declined
    )


def shows_signs(tree: exp.Expression, inputs: Iterable[Input]) -> bool:
    """Decides whether a function above an input may show a zero's sign that a cube has lost."""
    names = {name.lower() for plan in inputs for name in unsigned_outputs(plan)}
    return bool(names) and any(
        column.name.lower() in names
        for call in tree.find_all(exp.Func, exp.DPipe)
        if not isinstance(call, _SIGN_KEEPING)
        for column in call.find_all(exp.Column)
    )


def has_inner(tree: exp.Expression) -> bool:
    """Whether more than one SELECT stands in it."""
    return next(islice(tree.find_all(exp.Select), 1, None), None) is not None


def _whole(select: exp.Select) -> exp.Expression:
    """As a statement of its own."""
    return with_visible(select, visible_to(select))


def _is_sorted_by_table(select: exp.Select) -> bool:
    """Whether it's one of a set operation's that is sorted by a table's column."""
    inside: exp.Expr | None = select.parent
    while isinstance(inside, exp.SetOperation) or (
        isinstance(inside, exp.Subquery) and not inside.alias
    ):
        if sorts_by_table(inside):
            return True
        inside = inside.parent
    return False


def _reads(select: exp.Select, refused: Set[int]) -> bool:
    """Whether one of those stands in its FROM; DeclinedError where something unknown does."""
    if not refused or select.args.get("from_") is None:
        return False
    visible = [*visible_to(select), *defined(select)]
    sources = (meant(node, visible) for node in relations(select))
    return any(source is not None and id(source[0]) in refused for source in sources)


def _is_grouped(select: exp.Select) -> bool:
    """Whether it isn't one of rows, of which others may be SELECTs of its tables."""
    grouped = any(select.args.get(key) for key in ("group", "having", "distinct"))
    return grouped or any(map(may_aggregate, select.expressions))


def _is_answer(plan: Plan) -> bool:
    return isinstance(plan, Input) and refused_input(plan) is None and _is_named(plan)


def _is_named(plan: Input) -> bool:
    """Whether the answer's columns are known, and each by a name of its own."""
    try:
        Answers({"": answer_of(plan.block)})
    except DeclinedError:
        return False
    return True


def _pinned(
    pieces: Sequence[str],
    places: Sequence[SelectSpan],
    found: Mapping[str, Input],
    facts: Facts,
) -> tuple[tuple[str, ...], bool, bool]:
    """The pieces, in which tables that are also read here are of the snapshot that's read here.

    And whether Spark reads no table beside the answers, and whether it may compare something with a
    constant. DeclinedError where a table isn't one of Iceberg's, which could be a view of such a
    table.
    """
    marks = [f"{_MARK}{number}_" for number in range(len(places))]
    text = pieces[0]
    for mark, piece in zip(marks, pieces[1:], strict=True):
        text += f"SELECT * FROM {mark}{piece}"
    tree = parse(text)
    own = {table.facts.uuid for plan in found.values() for table in plan.pinned}
    travels: list[tuple[int, str]] = []
    alone = True
    for node in tree.find_all(exp.Table):
        if node.name in marks or is_defined(node):
            continue
        if not isinstance(node.this, exp.Identifier):  # IDENTIFIER('t'), t.branch_b, a function
            raise DeclinedError("table_unknown", f"The table {node.sql(SPARK)}.")
        parts = tuple(part.name for part in node.parts)
        table = facts.table(parts, At())
        if table is None:
            raise DeclinedError("table_unknown", f"The table {'.'.join(parts)}.")
        alone = False
        if table.uuid not in own or any(node.args.get(key) for key in _TRAVEL):
            continue
        then = At(snapshot_id=table.snapshot_id)
        same = None if table.snapshot_id is None else facts.table(parts, then)
        if same is None or same.columns != table.columns:
            raise DeclinedError("table_unknown", "The snapshot has another schema.")
        travels.append((node.parts[-1].meta["end"] + 1, f" VERSION AS OF {table.snapshot_id}"))
    for end, travel in sorted(travels, reverse=True):
        text = f"{text[:end]}{travel}{text[end:]}"
    cut: list[str] = []
    for mark in marks:
        piece, _, text = text.partition(f"SELECT * FROM {mark}")
        cut.append(piece)
    return (*cut, text), alone, any(map(_has_constant, tree.find_all(*_TESTS)))


def _has_constant(test: exp.Expr) -> bool:
    """Whether an operand names no column."""
    operands = (test.this, test.args.get("expression"))
    return any(one is None or one.find(exp.Column) is None for one in operands)
