"""All rows of the function table: by name in bound expressions, by word, by parser's node."""

from __future__ import annotations

from collections.abc import Mapping

from rewrite.functions.numbers import NUMBERS
from rewrite.functions.row import Arguments, Signature, SparkFunction
from rewrite.functions.texts import TEXTS
from rewrite.functions.times import TIMES

FUNCTIONS = (*NUMBERS, *TEXTS, *TIMES)
BY_OP: Mapping[str, SparkFunction] = {function.op: function for function in FUNCTIONS}
BY_WORD: Mapping[str, SparkFunction] = {
    word: function for function in FUNCTIONS for word in function.all_words
}
BY_NODE: Mapping[str, SparkFunction] = {
    node: function for function in FUNCTIONS for node in function.nodes if node != "Pad"
}
"""Of a call whose word the parser doesn't keep."""
RAISING = frozenset(f.op for f in FUNCTIONS if any(form.raises for form in f.forms))
"""Functions that Spark raises for on some values."""


def form_of(op: str, args: Arguments) -> Signature | None:
    """The proven signature of a call; None if there's none."""
    function = BY_OP.get(op)
    return None if function is None else function.form(args)
