"""Plans of set operations over answers: each query is planned on its own, DuckDB joins their rows.

Columns must be of the same types in all of them, where Spark would look for a wider one, and rows
are compared only where equality is identity.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from accelerator.common.config.config import Config
from accelerator.planning.candidates.derived_tables import answer_of, over_answers, refused_input
from accelerator.planning.plans import Attempt, Input, PlainPlan, Plan
from rewrite.bind.join_rows import bind_row_block
from rewrite.ir.block import joins_by_identity
from rewrite.reason import Declined, DeclinedError
from rewrite.render.expressions import quote
from rewrite.rules.derived_tables import Answers, DerivedTable
from rewrite.rules.set_operations import SetOperation

_NAME = "acc_answer_0"
_ROWS = exp.Select(expressions=[exp.Star()], from_=exp.From(this=exp.to_table(_NAME)))


def plan_set(
    found: SetOperation,
    planned: Callable[[exp.Expression], Plan],
    config: Config,
    *,
    by_spark: bool,
) -> Plan:
    """The plan of the operation, whose queries `planned` plans; a plain one with the reason."""
    if by_spark or config.engine == "spark":
        declined = Declined("engine_unavailable", "Set operations are put together in DuckDB.")
        return PlainPlan(declined)
    plans: list[Input] = []
    tried: dict[int, Attempt] = {}
    for query in found.queries:
        plan = planned(query)
        tried.update((id(one), one) for one in plan.tried)
        refused = refused_input(plan)
        if refused is not None or not isinstance(plan, Input):
            return PlainPlan(refused or Declined("block_unsupported"), tuple(tried.values()))
        plans.append(plan)
    try:
        answer = _answer(found, [answer_of(plan.block) for plan in plans])
        block = bind_row_block(_ROWS, Answers({_NAME: answer}))
        text = f" {found.operator} ".join(
            f"SELECT {', '.join(quote(o.name or '', 'duckdb') for o in plan.block.outputs)}"
            f" FROM raw_{number}"
            for number, plan in enumerate(plans)
        )
        return over_answers(block, plans, tuple(tried.values()), branches=f"({text})")
    except DeclinedError as error:
        return PlainPlan(error.declined, tuple(tried.values()))


def _answer(found: SetOperation, answers: Sequence[DerivedTable]) -> DerivedTable:
    """What is known of its rows: the first one's names, all one's types."""
    first = answers[0]
    types = [type_ for _, type_ in first.columns]
    for answer in answers:
        answer.facts("")  # DuckDB reads them by names
        if [type_ for _, type_ in answer.columns] != types:
            raise DeclinedError("expression_not_proven", "Branches of other types.")
    if found.compares and not all(joins_by_identity(type_, type_) for type_ in types):
        raise DeclinedError("expression_not_proven", "Rows whose equality isn't identity.")
    return first if first.unique is None else DerivedTable(first.columns)
