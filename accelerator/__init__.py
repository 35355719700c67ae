"""A query accelerator before Apache Iceberg tables: same SQL, same answer, from cubes.

`open(path)` makes or opens an embedded warehouse; `attach(spark)` stands over a Spark session of
the user's. Both give an `Accelerator`.
"""

from __future__ import annotations

from accelerator.errors import AcceleratorError
from accelerator.metrics import Metrics
from accelerator.opening import attach, open  # the public word for it
from accelerator.result import Result
from accelerator.session import Accelerator

__version__ = "0.1.0"
__all__ = ["Accelerator", "AcceleratorError", "Metrics", "Result", "__version__", "attach", "open"]
