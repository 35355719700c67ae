"""A query accelerator before Apache Iceberg tables: same SQL, same answer, from cubes.

`open(path)` makes or opens an embedded warehouse; `attach(spark)` stands over a Spark session of
the user's. Both give an `Accelerator`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from accelerator.version import VERSION as __version__

if TYPE_CHECKING:
    from accelerator.common.statement_metrics import Metrics
    from accelerator.errors import AcceleratorError
    from accelerator.query.results.result import Result
    from accelerator.session.opening import attach, open
    from accelerator.session.session import Accelerator

__all__ = ["Accelerator", "AcceleratorError", "Metrics", "Result", "__version__", "attach", "open"]

_HOMES = {
    "Accelerator": "session.session",
    "AcceleratorError": "errors",
    "Metrics": "common.statement_metrics",
    "Result": "query.results.result",
    "attach": "session.opening",
    "open": "session.opening",
}


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext accelerator`: the magics `%accelerate` and `%%accelerate`."""
    from accelerator.ipython import register

    register(shell)


# Names are looked up at their first use, so that `accelerator --help` loads no engine.
def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    try:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    except ImportError as error:
        from accelerator.session.package_check import faults

        found = faults()
        if not found:
            raise
        raise ImportError("\n  hint: ".join(found[0])) from error
