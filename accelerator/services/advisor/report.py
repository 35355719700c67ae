"""What is told of a run of the advisor by itself: a value that goes from process to process."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct


class AppliedStep(Struct, frozen=True):
    """One thing that was done, or that failed by `error`, in so many seconds."""

    id: str
    action: str
    table: str
    name: str
    seconds: float = 0.0
    error: str | None = None
    code: str | None = None


class Advised(Struct, frozen=True):
    """One run: `advised` recommendations, those applied, and how many weren't, by reason.

    `left`: some are for the next run. `promised_ms` and `gain_ms` a day are sums over what was
    applied and is in use; None where nothing could be told. `error` says why the run failed, `code`
    is that error's; a run whose steps failed has the first one's.
    """

    advised: int = 0
    steps: tuple[AppliedStep, ...] = ()
    skipped: Mapping[str, int] | None = None
    left: bool = False
    promised_ms: float | None = None
    gain_ms: float | None = None
    in_use: int | None = None
    bytes: int | None = None
    seconds: float = 0.0
    error: str | None = None
    code: str | None = None
