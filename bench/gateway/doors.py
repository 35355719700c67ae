"""Users who may not read a table ask a gateway about it by every kind of request.

A cell is one request with one right. It leaks if the answer contains what only forbidden things
contain, or if it differs for a table that exists and one that doesn't. The cells are those of
`tests/gateway/gateway_doors.py`.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from bench.gateway.served import served
from tests.gateway import gateway_doors as doors


def asked_at_doors(folder: Path, *, one_in: int = 1) -> doors.Outcome:
    """Asks every cell, or one in so many, of a gateway over a warehouse made in the folder."""
    root = folder / "doors"
    shutil.rmtree(root, ignore_errors=True)
    warehouse = doors.made_warehouse(root / "warehouse")
    policy = root / "policy.toml"
    policy.write_text(doors.policy())
    catalogs = {"ACCELERATOR_CATALOGS": json.dumps(doors.further_catalog(root))}
    settings: dict[str, str | int] = {"policy": str(policy), "workers": 2, "maintenance": "false"}
    with served(warehouse, folder / "doors-gateway.log", catalogs, **settings) as at:
        return doors.walked(at.host, at.port, one_in=one_in)
