"""What Trino's clients ask of catalogs: SHOW, `information_schema`, `system`; no row is read."""

from accelerator.errors import UnknownSchemaError
from accelerator.gateway.catalog.catalog import Metadata
from accelerator.gateway.catalog.gateway_facts import GatewayFacts
from accelerator.gateway.catalog.listing import MaySee

__all__ = ["GatewayFacts", "MaySee", "Metadata", "UnknownSchemaError"]
