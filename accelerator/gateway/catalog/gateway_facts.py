"""What the gateway itself tells about: its queries, its node, settings of a session, roles.

Plain values, since a gateway tells its workers of them; what is missing in a row is NULL.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

Rows = Sequence[Mapping[str, Any]]
"""Values by the names of columns."""


class GatewayFacts(Struct, frozen=True, kw_only=True):
    """Rows of `system.runtime`, settings as SHOW SESSION has them, and roles by name.

    `properties` are (name, value, default, type, description). Of `roles` there are those of all
    users, `own_roles` are those of this one, `enabled_roles` those that count for the statement.
    """

    queries: Rows = ()
    nodes: Rows = ()
    transactions: Rows = ()
    properties: Sequence[tuple[str, str, str, str, str]] = ()
    roles: Sequence[str] = ()
    own_roles: Sequence[str] = ()
    enabled_roles: Sequence[str] = ()
