"""Plans of a statement in which only some SELECTs are answered here; the rest is left to Spark.

What isn't understood of a statement, windows, set operations, scalar subqueries, joins of tables
with derived ones, functions of any kind, needs no understanding where its SELECTs over facts are
answered on their own: Spark reads their few rows in their place. A table that both read is the same
state to both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice

from sqlglot import exp
from sqlglot.errors import SqlglotError

from accelerator.nested_search import answer_of, refused_input
from accelerator.plan import CoverPlan, NestedPlan, PartialPlan, PlainPlan, Plan, RowsPlan
from rewrite.embedded import Place, replaced
from rewrite.facts import At, Facts
from rewrite.nested import Answers
from rewrite.parse import parse
from rewrite.reason import DeclinedError

_MARK = "acc_partial_"
_TRAVEL = ("version", "when")
Input = CoverPlan | RowsPlan | NestedPlan


def plan_partial(
    sql: str,
    tree: exp.Expression,
    plain: PlainPlan,
    facts: Facts,
    planned: Callable[[exp.Expression], Plan],
    dialect: str,
) -> PartialPlan | PlainPlan:
    """The plan with what `planned` answers; the `plain` one where that is nothing."""
    if not isinstance(tree, exp.Query) or _MARK in sql or not _has_inner(tree):
        return plain
    if tree.find(exp.TableSample) is not None:  # what is drawn goes by how the rows lie
        return plain
    found: dict[str, Input] = {}

    def answered(select: str) -> bool:
        if select not in found:
            try:
                plan = planned(parse(select, dialect))
            except SqlglotError:
                return False
            if not isinstance(plan, Input) or refused_input(plan) or not _is_named(plan):
                return False
            found[select] = plan
        return True

    try:
        pieces, places = replaced(sql, dialect, answered)
        if not places:
            return plain
        pieces = _pinned(pieces, places, found, facts, dialect)
    except (DeclinedError, SqlglotError):
        return plain
    selects = tuple(place.sql for place in places)
    inputs = tuple(found[select] for select in selects)
    return PartialPlan(inputs=inputs, tried=plain.tried, pieces=pieces, selects=selects)


def _has_inner(tree: exp.Expression) -> bool:
    return next(islice(tree.find_all(exp.Select), 1, None), None) is not None


def _is_named(plan: Input) -> bool:
    """Whether the answer's columns are known, and each by a name of its own."""
    try:
        Answers({"": answer_of(plan.block)})
    except DeclinedError:
        return False
    return True


def _pinned(
    pieces: Sequence[str],
    places: Sequence[Place],
    found: Mapping[str, Input],
    facts: Facts,
    dialect: str,
) -> tuple[str, ...]:
    """The pieces, in which tables that are also read here are of the snapshot that's read here.

    DeclinedError where a table isn't one of Iceberg's, which could be a view of such a table.
    """
    marks = [f"{_MARK}{number}_" for number in range(len(places))]
    text = pieces[0]
    for mark, piece in zip(marks, pieces[1:], strict=True):
        text += f"SELECT * FROM {mark}{piece}"
    tree = parse(text, dialect)
    own = {table.facts.uuid for plan in found.values() for table in plan.pinned}
    defined = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    travels: list[tuple[int, str]] = []
    for node in tree.find_all(exp.Table):
        if node.name in marks or not isinstance(node.this, exp.Identifier):
            continue
        parts = tuple(part.name for part in node.parts)
        table = facts.table(parts, At())
        if len(parts) == 1 and parts[0].lower() in defined:
            if table is not None and table.uuid in own:
                raise DeclinedError("name_ambiguous", "A name of WITH is a table's as well.")
            continue
        if table is None:
            raise DeclinedError("table_unknown", f"The table {'.'.join(parts)}.")
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
    return (*cut, text)
