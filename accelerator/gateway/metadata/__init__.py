"""What Trino's clients ask of catalogs: SHOW, `information_schema`, `system`; no row is read."""

from accelerator.errors import UnknownSchemaError
from accelerator.gateway.metadata.given import Given
from accelerator.gateway.metadata.listing import MaySee
from accelerator.gateway.metadata.metadata import Metadata

__all__ = ["Given", "MaySee", "Metadata", "UnknownSchemaError"]
