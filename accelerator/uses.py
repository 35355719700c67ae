"""Which cubes have answered in this process, and when last."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from accelerator.plans import Plan


@dataclass
class Uses:
    """How often a cube answered, and when last (seconds since the epoch), by the cube's id."""

    hits: dict[str, int] = field(default_factory=dict)
    last: dict[str, float] = field(default_factory=dict)

    def record(self, plan: Plan) -> None:
        """One more for each cube that answered."""
        for cube_id in (one for leaf in plan.leaves() for one in leaf.cube_ids()):
            self.hits[cube_id] = self.hits.get(cube_id, 0) + 1
            self.last[cube_id] = time.time()
