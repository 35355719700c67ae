"""The gateway: sessions behind Trino's protocol, for clients that know no Python.

`start(config)` runs one in a thread; `accelerator serve` in the foreground.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from accelerator.common.log_lines import in_one_line

if TYPE_CHECKING:
    from accelerator.common.config.config import Config
    from accelerator.gateway.serving import RunningGateway
    from accelerator.gateway.settings import GatewaySettings

logging.getLogger(__name__).addFilter(in_one_line)
# The parser's records are whole texts of clients; what matters in them it raises as errors.
logging.getLogger("sqlglot").addFilter(lambda _record: False)


def start(config: Config, settings: GatewaySettings | None = None, **given: Any) -> RunningGateway:
    """Starts a gateway in a thread; it listens when this returns, and ends with its `with`.

    Without `settings` they're the defaults with what is `given`, on a port that is free.
    ConfigError where it can't start, ImportError without the packages of the extra `gateway`.
    """
    from accelerator.gateway import serving

    return serving.start(config, settings, **given)
