"""The interpreter of `kernel`, compiled.

Importing this module imports numba, which takes a good part of a second; see `reader`.
"""

from __future__ import annotations

import numpy as np

from accelerator.iceberg.manifests import interpreter
from indexes.numba_cache import compiled_module

COMPILED = compiled_module(interpreter, int64=np.int64)
"""Functions of the same names as those of `kernel`, over arrays of numpy's."""
