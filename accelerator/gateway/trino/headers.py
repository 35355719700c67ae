"""Headers of Trino's protocol: what a client says of its session, and what it's told to change.

Nothing that a client sends is trusted. Promise: sizes and counts are bounded before anything is
decoded, names have no controls, and no value of ours ends a header's line. What is read and has no
effect here: X-Trino-Path (no catalog has functions of its own), X-Trino-Resource-Estimate (an
estimate limits nothing), X-Trino-Extra-Credential (no catalog is asked with a client's secrets).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Protocol
from urllib.parse import quote_plus, unquote_plus
from zoneinfo import ZoneInfo

from accelerator.errors import AcceleratorError
from accelerator.gateway.trino.requests.nodes import ClientSession, SetRole
from rewrite.text.printable import one_line

PREFIX = "X-Trino-"
_KEPT_MAX = 4096
"""Characters of headers by which a session is known again."""
_TOTAL_MAX = 2**20
_TEXT_MAX = 16_384
_NAME_MAX = 256
_COUNT_MAX = 1_000
_READ = (
    *("Original-User", "Source", "Catalog", "Schema", "Time-Zone", "Language", "Client-Info"),
    *("Client-Tags", "Trace-Token", "Transaction-Id", "Session", "Prepared-Statement", "Role"),
    *("Client-Capabilities",),
)
_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{2}))?")
_ZONE = re.compile(r"[A-Za-z0-9+_./-]{1,64}")
_OFFSET_MAX = 14 * 60
_UTC = frozenset(("Z", "UTC", "UT", "GMT", "ETC/UTC", "ETC/GMT", "ZULU", "ETC/ZULU"))
_ROLE = re.compile(r"ROLE\{.{1,256}\}|ALL|NONE", re.DOTALL)
_ODD = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\ud800-\udfff]")
_COMPRESSED = "$zstd:"

Header = tuple[str, str]


class HeaderError(AcceleratorError):
    """A header of a request has a value that it can't have."""

    code = "header_invalid"


class RequestHeaders(Protocol):
    """Headers by name, in whatever case."""

    def getall(self, key: str, default: list[str]) -> list[str]:
        """All of the name, the default where there is none."""
        ...


def check_user(name: str) -> None:
    """HeaderError for a user's name that isn't plain text, whatever header it came in."""
    if not is_plain(name):
        raise HeaderError(
            "the user's name has characters that no name has, or isn't UTF-8",
            hint="send the name as UTF-8, without controls",
        )


def client_session(headers: RequestHeaders, user: str) -> ClientSession:
    """What the headers say of the client's session; `user` is who it was found to be.

    HeaderError names the header whose value it can't have.
    """
    given = tuple(tuple(headers.getall(PREFIX + name, [])) for name in _READ)
    if sum(len(value) for values in given for value in values) > _KEPT_MAX:
        return _session(user, given)
    return _known(user, given)


def _session(user: str, given: tuple[tuple[str, ...], ...]) -> ClientSession:
    """The same of the headers that are read, in their order."""
    found = {name: _checked(name, values) for name, values in zip(_READ, given, strict=True)}
    if sum(len(one) for values in found.values() for one in values) > _TOTAL_MAX:
        raise HeaderError(f"the headers {PREFIX}… have more than {_TOTAL_MAX:,} characters")
    one = {name: _single(name, values) for name, values in found.items()}
    catalog, schema = one["Catalog"] or None, one["Schema"] or None
    if schema is not None and catalog is None:
        raise HeaderError(
            f"{PREFIX}Schema is set, and {PREFIX}Catalog isn't",
            hint="give the catalog with the schema",
        )
    transaction = one["Transaction-Id"]
    zone = one["Time-Zone"]
    return ClientSession(
        user=user,
        original_user=one["Original-User"],
        source=one["Source"],
        catalog=_name("Catalog", catalog) if catalog else None,
        schema=_name("Schema", schema) if schema else None,
        time_zone=time_zone(zone) if zone else None,
        language=one["Language"] or None,
        client_info=one["Client-Info"],
        client_tags=tuple(dict.fromkeys(_parts("Client-Tags", found["Client-Tags"]))),
        trace_token=one["Trace-Token"] or None,
        transaction=None if transaction.upper() in ("", "NONE") else transaction,
        roles=_roles(found["Role"]),
        properties=_properties(found["Session"]),
        prepared=_prepared(found["Prepared-Statement"]),
        capabilities=frozenset(_parts("Client-Capabilities", found["Client-Capabilities"])),
    )


_known = lru_cache(maxsize=512)(_session)
"""A client's headers are mostly as they were before."""


def time_zone(zone: str) -> str:
    """The zone as Spark and Python know it: a name, UTC, or an offset like +01:00.

    HeaderError where there is no such zone.

    >>> time_zone("Z"), time_zone("GMT+1"), time_zone("Asia/Shanghai")
    ('UTC', '+01:00', 'Asia/Shanghai')
    """
    found = _zone(zone) if len(zone) <= _NAME_MAX else None
    if found is None:
        raise HeaderError(
            f"there is no time zone {one_line(zone[:64])}",
            hint=f"{PREFIX}Time-Zone has a name such as Europe/Berlin, or an offset such as +01:00",
        )
    return found


@lru_cache(maxsize=256)
def _zone(zone: str) -> str | None:
    zone = zone.strip()
    if zone.upper() in _UTC:
        return "UTC"
    offset = _OFFSET.fullmatch(zone)
    if offset is not None:
        hours, minutes = int(offset[2]), int(offset[3] or 0)
        if minutes >= 60 or hours * 60 + minutes > _OFFSET_MAX:
            return None
        return f"{offset[1]}{hours:02}:{minutes:02}" if hours or minutes else "UTC"
    if not _ZONE.fullmatch(zone):
        return None
    try:
        return ZoneInfo(zone).key
    except (LookupError, OSError, ValueError):
        return None


def _checked(name: str, values: tuple[str, ...]) -> list[str]:
    """The header's values; only texts that could be sent again."""
    for value in values:
        if not is_plain(value):
            raise _invalid(name, "has characters that no header has, or isn't UTF-8")
    return list(values)


def is_plain(value: str) -> bool:
    """Whether nothing in it ends a line or is half a character; marks that aren't seen may be."""
    return _ODD.search(value) is None


def _single(name: str, values: Sequence[str]) -> str:
    """The value of a header that there is once; proxies may repeat it."""
    if name in ("Session", "Prepared-Statement", "Role", "Client-Tags", "Client-Capabilities"):
        return ""
    different = {one.strip() for one in values}
    if len(different) > 1:
        raise _invalid(name, "is there more than once, with different values")
    value = different.pop() if different else ""
    if len(value) > _TEXT_MAX:
        raise _invalid(name, f"has more than {_TEXT_MAX:,} characters")
    return value


def _name(header: str, name: str) -> str:
    if not name or len(name) > _NAME_MAX or not is_plain(name):
        raise _invalid(header, f"has a name that is empty, or longer than {_NAME_MAX} characters")
    return name


def _parts(header: str, values: Sequence[str]) -> list[str]:
    """What stands between commas."""
    found = [part.strip() for value in values for part in value.split(",")]
    found = [part for part in found if part]
    if len(found) > _COUNT_MAX:
        raise _invalid(header, f"has more than {_COUNT_MAX:,} parts")
    return found


def _pairs(header: str, values: Sequence[str]) -> dict[str, str]:
    """`name=value` between commas, the values decoded; of one name the last."""
    pairs: dict[str, str] = {}
    for part in _parts(header, values):
        name, sign, value = part.partition("=")
        if not sign:
            raise _invalid(header, "has a part that isn't name=value")
        pairs[_name(header, _decoded(header, name.strip()))] = _decoded(header, value.strip())
    return pairs


def _decoded(header: str, value: str) -> str:
    try:
        return unquote_plus(value, errors="strict")
    except UnicodeDecodeError:
        raise _invalid(header, "has a value that isn't URL-encoded UTF-8") from None


def _properties(values: Sequence[str]) -> dict[str, str]:
    pairs = _pairs("Session", values)
    for name in pairs:
        if name.count(".") > 1 or not all(name.split(".")):
            raise _invalid("Session", "has a property whose name isn't name, or catalog.name")
    return pairs


def _prepared(values: Sequence[str]) -> dict[str, str]:
    pairs = _pairs("Prepared-Statement", values)
    if any(sql.startswith(_COMPRESSED) for sql in pairs.values()):
        raise _invalid("Prepared-Statement", "has a compressed statement of another server")
    return pairs


def _roles(values: Sequence[str]) -> dict[str, str]:
    pairs = _pairs("Role", values)
    if not all(_ROLE.fullmatch(role) for role in pairs.values()):
        raise _invalid("Role", "has a role that is none of ALL, NONE and ROLE{name}")
    return pairs


def _invalid(name: str, what: str) -> HeaderError:
    return HeaderError(f"the header {PREFIX}{name} {what}")


def response_headers(
    *,
    set_catalog: str | None = None,
    set_schema: str | None = None,
    set_session: Mapping[str, str] | None = None,
    clear_session: Iterable[str] = (),
    added_prepare: Mapping[str, str] | None = None,
    deallocated_prepare: Iterable[str] = (),
    started_transaction: str | None = None,
    clear_transaction: bool = False,
    set_role: SetRole | None = None,
    set_authorization_user: str | None = None,
    reset_authorization_user: bool = False,
) -> list[Header]:
    """The headers that tell a client what of its session changes, in a list since some recur.

    HeaderError for a name that can't stand in a header.
    """
    found: list[Header] = []

    def add(name: str, value: str) -> None:
        if not is_plain(value) or "\t" in value:
            raise _invalid(name, "can't have such a value")
        found.append((PREFIX + name, value))

    if set_catalog is not None:
        add("Set-Catalog", set_catalog)
    if set_schema is not None:
        add("Set-Schema", set_schema)
    for name, value in (set_session or {}).items():
        add("Set-Session", f"{_key(name)}={_encoded(value)}")
    for name in clear_session:
        add("Clear-Session", _key(name))
    for name, sql in (added_prepare or {}).items():
        add("Added-Prepare", f"{_encoded(name)}={_encoded(sql)}")
    for name in deallocated_prepare:
        add("Deallocated-Prepare", _encoded(name))
    if started_transaction is not None:
        add("Started-Transaction-Id", started_transaction)
    if clear_transaction:
        add("Clear-Transaction-Id", "true")
    if set_role is not None:
        role = set_role.role
        role = role if role in ("ALL", "NONE") else f"ROLE{{{role}}}"
        add("Set-Role", f"{_key(set_role.catalog or 'system')}={_encoded(role)}")
    if set_authorization_user is not None:
        add("Set-Authorization-User", set_authorization_user)
    if reset_authorization_user:
        add("Reset-Authorization-User", "true")
    return found


def _key(name: str) -> str:
    """A name that clients take as it is: one that would be read as two isn't given."""
    if not name or any(one in name for one in "=,") or name != name.strip():
        raise HeaderError("a name with a comma or = can't stand in a header")
    return name


def _encoded(value: str) -> str:
    try:
        return quote_plus(value, safe="*")
    except UnicodeEncodeError:
        raise HeaderError("a value that isn't text can't stand in a header") from None
