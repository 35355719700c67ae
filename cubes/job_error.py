"""What a job of Spark's raises, for those who don't import Spark."""

from __future__ import annotations


class JobError(Exception):
    """A Spark job or statement failed; `cancelled` tells a cancelled job from a broken one."""

    def __init__(self, message: str, *, cancelled: bool) -> None:
        super().__init__(message)
        self.cancelled = cancelled
