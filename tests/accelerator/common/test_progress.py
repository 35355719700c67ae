"""Progress: lines for logs, a bar for terminals, silence for the library."""

from __future__ import annotations

import io

from accelerator.common.progress import BarProgress, LineProgress, SilentProgress, progress_for


def test_lines_come_at_the_start_now_and_then_and_at_the_end():
    now, out = [0.0], io.StringIO()
    progress = LineProgress(out, clock=lambda: now[0])
    progress.start(10, "files")
    for _ in range(10):
        now[0] += 1.0
        progress.advance()
    progress.finish()
    progress.finish()
    assert out.getvalue().splitlines() == [
        "files: 0 of 10",
        "files: 5 of 10",
        "files: 10 of 10",
        "files: 10 of 10, 10.0 s",
    ]


def test_a_bar_is_only_for_terminals():
    assert isinstance(progress_for(io.StringIO()), LineProgress)
    out = io.StringIO()
    out.isatty = lambda: True
    bar = progress_for(out)
    assert isinstance(bar, BarProgress)
    bar.start(2, "files")
    bar.advance(2)
    bar.finish()
    bar.advance()
    SilentProgress().start(1, "nothing")
