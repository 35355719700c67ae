"""How a worker's statements are answered, for who asks about one: plan, reasons, funnels.

Nothing is made before somebody asks. Promises: no session lives longer for it, and no plan longer
than the plan cache keeps it, but for the newest few; what isn't there any more is told as missing.
"""

from __future__ import annotations

import weakref
from collections import deque
from itertools import islice
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from accelerator.common.lru_cache import Recent
from accelerator.query.explain.html import stages

if TYPE_CHECKING:
    from accelerator.planning.plans import Leaf, Plan
    from accelerator.query.explain.explainer import Explainer

_KEPT_MAX = 1024
_NEWEST = 16
"""So many plans are kept though nobody else has them."""
_TEXT_MAX = 20_000
_REASONS_MAX = 50
_LEAVES_MAX = 20
_REASON_MAX = 2_000


class _CachedExplanation(Struct, frozen=True):
    sql: str
    plan: weakref.ReferenceType[Plan]
    explainer: weakref.ReferenceType[Explainer]
    is_private: bool


class Explanations:
    """Of one worker; threads share it."""

    def __init__(self) -> None:
        self._kept: Recent[_CachedExplanation] = Recent(_KEPT_MAX)
        self._newest: deque[Plan] = deque(maxlen=_NEWEST)

    def keep(
        self, number: int, sql: str, plan: Plan, explainer: Explainer, *, is_private: bool = False
    ) -> None:
        """The statement of that number is answered by that plan, as far as is known now.

        A private one reports more than its own user may read.
        """
        kept = _CachedExplanation(sql, weakref.ref(plan), weakref.ref(explainer), is_private)
        self._kept.put(number, kept)
        self._newest.append(plan)

    def explanation_of(self, number: int) -> dict[str, Any] | None:
        """As JSON values: `text`, `reasons`, and `tables` with a funnel each; None where it's gone.

        `private` is whether it's for those alone who see everybody's statements.

        Each stage of a funnel is its name, the share that is left (0 to 1), and a note. `sources`
        are data files by what answers for them.
        """
        kept = self._kept.get(number)
        if kept is None:
            return None
        plan, explainer = kept.plan(), kept.explainer()
        if plan is None or explainer is None:
            return None
        explanation = explainer.of_plan(kept.sql, plan)
        return {
            "text": explanation.text()[:_TEXT_MAX],
            "reasons": [_reason(one) for one in explanation.why_not()[:_REASONS_MAX]],
            "tables": [_of_table(leaf) for leaf in islice(plan.leaves(), _LEAVES_MAX)],
            "private": kept.is_private,
        }


def _reason(row: dict[str, Any]) -> dict[str, Any]:
    return {k: v[:_REASON_MAX] if isinstance(v, str) else v for k, v in row.items()}


def _of_table(leaf: Leaf) -> dict[str, Any]:
    funnel = leaf.funnel()
    found = [] if funnel is None or not funnel.files else list(stages(funnel))
    return {
        "table": leaf.surveyed.facts.name if leaf.pinned else "",
        "used": list(leaf.used()),
        "sources": leaf.to_dict().get("sources") or {},
        "funnel": [[label, round(share, 6), note] for label, share, note in found],
    }
