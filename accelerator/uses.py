"""Which cubes have answered in this process, and when last."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from accelerator.plan import ComposedPlan, CoverPlan, Plan


@dataclass
class Uses:
    """How often a cube answered, and when last (seconds since the epoch), by the cube's id."""

    hits: dict[str, int] = field(default_factory=dict)
    last: dict[str, float] = field(default_factory=dict)

    def record(self, plan: Plan) -> None:
        """One more, if it's a cube that answered."""
        for part in plan.parts if isinstance(plan, ComposedPlan) else ():
            self.record(part)
        if isinstance(plan, CoverPlan) and plan.cube_id is not None:
            self.hits[plan.cube_id] = self.hits.get(plan.cube_id, 0) + 1
            self.last[plan.cube_id] = time.time()
