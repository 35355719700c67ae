"""EXPLAIN (TYPE IO): which tables a query reads, as the JSON that Trino gives.

Nothing of Trino's costs is known here: each estimate is NaN, which is what Trino says of a table
without statistics, and no constraint is told.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

_ESTIMATES = ("outputRowCount", "outputSizeInBytes", "cpuCost", "maxMemory", "networkCost")
_UNKNOWN = dict.fromkeys(_ESTIMATES, "NaN")


def io_plan(tables: Iterable[tuple[str, ...]]) -> str:
    """The text of it; tables by their full names, in whatever order."""
    infos = [
        {
            "table": {
                "catalog": full[0],
                "schemaTable": {"schema": ".".join(full[1:-1]), "table": full[-1]},
            },
            "constraint": {"none": False, "columnConstraints": []},
            "estimate": _UNKNOWN,
        }
        for full in sorted(tables)
    ]
    return json.dumps({"inputTableColumnInfos": infos, "estimate": _UNKNOWN}, indent=2)
