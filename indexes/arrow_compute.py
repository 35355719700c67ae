"""Arrow's functions over columns, imported with the first that is used.

`pyarrow.compute` writes a Python function with its documentation for each of its 300 functions,
which takes 50 ms, and a first answer by a cube uses none of them.
"""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    """The function of that name, which is this module's own from now on."""
    import pyarrow.compute

    found = globals()[name] = getattr(pyarrow.compute, name)
    return found
