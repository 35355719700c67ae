"""Spark's start with the gateway: the first statement that needs Spark doesn't wait for Java.

The gateway asks a statement of its own as a client would, so that a fault of Spark's shows before
a client meets it. Promise: nothing waits for it, and its failure is logged and shown on the page.
"""

from __future__ import annotations

import logging
from contextlib import aclosing

from accelerator.common.records.as_dict import as_dict
from accelerator.errors import AcceleratorError
from accelerator.gateway.access.grants import UserAccess
from accelerator.gateway.trino.errors import TrinoError
from accelerator.gateway.trino.requests import nodes
from accelerator.gateway.trino.requests.nodes import ClientSession
from accelerator.gateway.workers.messages import Header
from accelerator.gateway.workers.pool.pool import Pool
from rewrite.text.printable import one_line

_log = logging.getLogger("accelerator.gateway")
_ASKED = nodes.RunStatement("SELECT 1")
_TEXT_MAX = 500


class Warming:
    """The start of one gateway's Spark."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self.failed = ""
        """Why Spark hasn't started; empty as long as nothing has failed."""

    async def run(self) -> None:
        """Starts Spark, and logs a failure."""
        try:
            async with aclosing(self._pool.run(_job(), again=True)) as frames:
                async for frame in frames:
                    if frame.kind != "rows":
                        told = TrinoError.from_dict(frame.header.get("error"))
                        hint = f" ({told.hint})" if told.hint else ""
                        self.failed = one_line(f"{told.message}{hint}")[:_TEXT_MAX]
        except (AcceleratorError, OSError) as error:
            self.failed = one_line(str(error))[:_TEXT_MAX]
        if self.failed:
            _log.error("Spark hasn't started with the gateway: %s", self.failed)
        else:
            _log.info("Spark has started with the gateway")


def _job() -> Header:
    facts: Header = {"session": [], "roles": [], "enabled": [], "queries": [], "nodes": []}
    return {
        **nodes.to_dict(_ASKED),
        "client": as_dict(ClientSession(user="")),
        "login": "",
        "access": UserAccess.all().to_json(),
        "log_of": None,
        "timeout_s": 0.0,
        "accelerate": False,
        "facts": facts,
    }
