"""SET ROLE: which of a user's roles count for a client's statements.

As in Trino: rules that name the user or a group of theirs always count; of their roles all do, or
the one that the client has chosen, or none. What a rule denies to any of their roles stays denied.
"""

from __future__ import annotations

from collections.abc import Mapping

from accelerator.errors import AcceleratorError
from accelerator.gateway.access.login.users import User
from rewrite.text.printable import one_line
from rewrite.text.suggestions import closest, did_you_mean

SYSTEM = "system"
"""The catalog under which clients keep the role; others have no roles of their own."""
_SHOWN_MAX = 80


class RoleNotFoundError(AcceleratorError):
    """There is no such role, or the user doesn't have it: nobody tells which."""

    code = "role_not_found"


def enabled_roles(user: User, chosen: Mapping[str, str]) -> frozenset[str] | None:
    """The roles that count; None: all of the user's.

    `chosen` has ALL, NONE or ROLE{name} by catalog. RoleNotFoundError for a role that the user
    doesn't have.
    """
    for catalog, role in chosen.items():
        if catalog != SYSTEM and role not in ("ALL", "NONE"):
            raise RoleNotFoundError(
                f"the catalog {one_line(catalog[:_SHOWN_MAX])} has no roles of its own",
                hint="SET ROLE name, without IN",
            )
    found = chosen.get(SYSTEM, "ALL")
    if found in ("ALL", "NONE"):
        return None if found == "ALL" else frozenset()
    name = found.removeprefix("ROLE{").removesuffix("}")
    if name not in user.roles:
        near = closest(name, sorted(user.roles))
        raise RoleNotFoundError(
            f"there is no role {one_line(name[:_SHOWN_MAX])} that you have",
            hint=did_you_mean(near) or "SHOW ROLES lists yours",
            suggestions=near,
        )
    return frozenset((name,))
