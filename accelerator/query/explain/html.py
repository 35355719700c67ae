"""An explanation as HTML for notebooks: the same words as the text, and the funnel as a picture.

Every text in it is escaped. Nothing is loaded from anywhere, and no script runs.
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence

from accelerator.planning.plans import Leaf
from accelerator.planning.plans.explain_tree import size
from accelerator.planning.survey import Funnel
from rewrite.text.printable import printable

_STYLE = "font-family:monospace;white-space:pre-wrap"
_BAR = (
    '<div style="display:flex;gap:.6em;align-items:center"><span style="width:16em">{}</span>'
    '<span style="width:20em;background:#8882"><span style="display:block;height:.8em;'
    'width:{:.1f}%;background:#3b82c4"></span></span><span>{}</span></div>'
)


def as_html(text: str, leaves: Sequence[Leaf]) -> str:
    """The text, and below it the funnel of each table that is read."""
    bars = "".join(_bars(leaves))
    return f'<div style="{_STYLE}">{html.escape(text)}</div>{bars}'


def _bars(leaves: Sequence[Leaf]) -> Iterator[str]:
    for leaf in leaves:
        found = leaf.funnel()
        if found is None or not found.files:
            continue
        name = leaf.surveyed.facts.name
        yield f'<div style="margin-top:.6em"><b>{html.escape(printable(name))}</b></div>'
        for label, share, note in stages(found):
            yield _BAR.format(html.escape(printable(label)), 100 * share, html.escape(note))


def stages(found: Funnel) -> Iterator[tuple[str, float, str]]:
    """What is left behind each of them: its name, its share of the files or rows, a note."""
    left = found.files
    yield "data files", 1.0, f"{found.files:,}"
    steps = [("by partition", found.by_partition), ("by bounds", found.by_bounds)]
    steps += [(f"by index {one.index}", one.files) for one in found.indexes]
    for label, out in steps:
        if out:
            left -= out
            yield f"left {label}", left / found.files, f"{left:,} of {found.files:,}"
    for label, pair in (("row groups", found.row_groups), ("rows", found.rows)):
        if pair is not None and pair[1]:
            yield label, pair[0] / pair[1], f"{pair[0]:,} of {pair[1]:,}"
    read, whole = found.bytes
    if whole:
        yield "bytes", read / whole, f"{size(read)} of {size(whole)}"
