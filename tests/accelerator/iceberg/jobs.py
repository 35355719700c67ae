"""Jobs that decode manifests, without Spark: what travels is pickled both ways."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from accelerator.iceberg.manifests.job import JobFailedError


@dataclass
class LocalJobs:
    """`ran` has how many items each job had; `broken` makes every job fail."""

    slots: int = 3
    running: bool = True
    broken: str | None = None
    ran: list[int] = field(default_factory=list)

    def workers(self) -> int:
        return self.slots

    def run(self, task: Callable[[Any], list[bytes]], items: Sequence[Any]) -> list[list[bytes]]:
        self.ran.append(len(items))
        if self.broken is not None:
            raise JobFailedError(self.broken)
        sent = pickle.loads(pickle.dumps((task, list(items))))
        given: list[list[bytes]] = pickle.loads(pickle.dumps([sent[0](one) for one in sent[1]]))
        return given
