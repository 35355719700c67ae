"""A client of the gateway's API: tables' metadata, services' runs, appends of Arrow and pandas.

`connect(url)` begins. It needs `requests` and PyArrow alone: no engine is imported.
"""

from __future__ import annotations

from accelerator.client.client import Client, connect
from accelerator.client.errors import ApiError, UnreachableError
from accelerator.client.runs import Run
from accelerator.client.tables import Appended, Table

__all__ = ["ApiError", "Appended", "Client", "Run", "Table", "UnreachableError", "connect"]
