"""The policy: rules of who may do what, and limits, out of a TOML file.

`docs/reference/access.md` says how it is written. A user has all rules that name them, a role or a
group of theirs; a rule that denies wins over all that allow; what no rule allows is denied.

Filters of rows and masks of columns would belong to rules that allow reading, and be applied by
`check.py`, as views in the place of tables, before anything is planned. None are built: a policy
with one is refused as a whole, so that nobody believes in one that isn't applied.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import cast, get_args

from msgspec import Struct
from msgspec.structs import replace

from accelerator.common.config.settings import from_file
from accelerator.errors import AcceleratorError, ConfigError
from accelerator.gateway.access.files.toml import ENTRIES_MAX, Section
from accelerator.gateway.access.grants import (
    ACTIONS,
    KINDS_OF,
    Action,
    Effect,
    Grant,
    Kind,
    UserAccess,
)
from accelerator.gateway.access.login.users import User
from accelerator.gateway.access.name_patterns import Glob
from accelerator.gateway.admission.admission import Limit, Per
from rewrite.identifiers.qualified_name import parts_of

_PAGE = "docs/reference/access.md"
_SUBJECTS = ("users", "roles", "groups")
_OBJECTS: dict[str, Kind] = {
    "tables": "table",
    "cubes": "cube",
    "indexes": "index",
    "whom": "user",
}
_PLANNED = ("filter", "mask")
_RULE = ("allow", "deny", *_SUBJECTS, *_OBJECTS, *_PLANNED)
_LIMIT = (
    *("name", "per", *_SUBJECTS, "sources", "tags"),
    *("concurrent", "queued", "per_minute", "memory_mb", "priority"),
)
_NUMBER_MAX = 1_000_000
_GRANTS_MAX = 20_000


class PolicyNotBuiltError(ConfigError):
    """A policy asks for what this release knows by name and can't do yet."""

    code = "not_built_yet"


class AccessRule(Struct, frozen=True):
    """What it allows or denies, and whom it is of: by name, role or group."""

    grants: tuple[Grant, ...]
    users: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()

    def holds(self, user: User) -> bool:
        """Whether it's of that user; `*` among its users is everybody."""
        pairs = ((self.users, (user.name,)), (self.roles, user.roles), (self.groups, user.groups))
        return any(
            Glob.exact(pattern).matches(name)
            for patterns, names in pairs
            for pattern in patterns
            for name in names
        )


class Policy(Struct, frozen=True):
    """Rules and limits; without a file (`Policy.none()`) everything is allowed and not limited."""

    rules: tuple[AccessRule, ...] | None = None
    limits: tuple[Limit, ...] | None = None

    @classmethod
    def none(cls) -> Policy:
        """Where there is no policy file."""
        return cls()

    @classmethod
    def load(cls, path: str | Path) -> Policy:
        """The policy of a file. ConfigError names the rule and the key that is wrong."""
        file = Section(from_file(Path(path)), str(path), _PAGE, ("rule", "limit"))
        rules = tuple(_rule(one) for one in _sections(file, "rule", _RULE))
        if sum(len(rule.grants) for rule in rules) > _GRANTS_MAX:
            raise file.error(f"its rules have more than {_GRANTS_MAX} patterns", "rule")
        limits = tuple(_limit(one) for one in _sections(file, "limit", _LIMIT))
        return cls(rules, limits or None)

    def access(self, user: User, enabled: frozenset[str] | None = None) -> UserAccess:
        """What the user may do; of their roles only those that are `enabled` allow anything.

        What is denied to another one of their roles is denied.
        """
        if self.rules is None:
            return UserAccess.all()
        narrowed = user if enabled is None else replace(user, roles=user.roles & enabled)
        return UserAccess.of(
            grant
            for rule in self.rules
            if rule.holds(user)
            for grant in rule.grants
            if grant.effect == "deny" or rule.holds(narrowed)
        )


def _sections(file: Section, key: str, known: Sequence[str]) -> Iterator[Section]:
    found = file.values.get(key, [])
    if not isinstance(found, list) or len(found) > ENTRIES_MAX:
        raise file.error(f"it must be a list of tables, [[{key}]], of {ENTRIES_MAX} at most", key)
    for number, value in enumerate(found, start=1):
        yield Section(value, f"{file.place}: {key} {number}", _PAGE, known)


def _rule(section: Section) -> AccessRule:
    for key in _PLANNED:
        if key in section.values:
            raise PolicyNotBuiltError(
                f"{section.place}: {key}: filters of rows and masks of columns aren't built yet",
                hint="make a view that leaves out what mustn't be seen, and deny its tables",
            )
    if ("allow" in section.values) == ("deny" in section.values):
        raise section.error("a rule has either allow or deny", "")
    effect: Effect = "allow" if "allow" in section.values else "deny"
    users, roles, groups = _subjects(section)
    if not users and not roles and not groups:
        raise section.error('say whose it is: users, roles or groups; users = ["*"] is all', "")
    return AccessRule(tuple(_grants(section, effect)), users, roles, groups)


def _subjects(section: Section) -> tuple[tuple[str, ...], ...]:
    return tuple(section.texts(key) for key in _SUBJECTS)


def _grants(section: Section, effect: Effect) -> Iterator[Grant]:
    unused = [key for key in _OBJECTS if key in section.values]
    actions = section.texts(effect)
    if not actions:
        raise section.error("it must name an action at least", effect)
    for word in actions:
        section.check_word(word, ACTIONS)
        action = cast(Action, word)
        kinds = KINDS_OF[action]
        keys = [key for key, kind in _OBJECTS.items() if kind in kinds]
        given = [key for key in keys if key in section.values]
        if keys and not given:
            raise section.error(f"{word} needs {' or '.join(keys)}", effect)
        if not keys:
            yield Grant(effect, action, kinds[0], ())
        for key in given:
            unused = [one for one in unused if one != key]
            for text in section.texts(key):
                yield Grant(effect, action, _OBJECTS[key], _pattern(section, key, text))
    if unused:
        raise section.error(f"none of the actions is done to {' or '.join(unused)}", effect)


def _pattern(section: Section, key: str, text: str) -> tuple[str, ...]:
    if key != "tables":
        return (text,)
    try:
        parts = parts_of(text)
    except AcceleratorError as error:
        raise section.error(f"{text!r} isn't a table's name or pattern", key) from error
    if len(parts) < 3 or not all(parts):
        raise section.error(f"{text!r} must have catalog, schema and table, e.g. lake.shop.*", key)
    return parts[0], ".".join(parts[1:-1]), parts[-1]


def _limit(section: Section) -> Limit:
    values = section.values
    per = section.text("per") if "per" in values else "all"
    if per not in get_args(Per):
        raise section.error(f"one of {', '.join(get_args(Per))}", "per")
    users, roles, groups = _subjects(section)
    memory = section.whole("memory_mb", 1, _NUMBER_MAX * 100)
    limit = Limit(
        name=section.text("name"),
        per=cast(Per, per),
        users=users,
        roles=roles,
        groups=groups,
        sources=section.texts("sources"),
        tags=section.texts("tags"),
        concurrent=section.whole("concurrent", 1, _NUMBER_MAX),
        queued=section.whole("queued", 0, _NUMBER_MAX),
        per_minute=section.whole("per_minute", 1, _NUMBER_MAX),
        memory_bytes=None if memory is None else memory * 1024 * 1024,
        priority=section.whole("priority", 0, _NUMBER_MAX),
    )
    bounds = (limit.concurrent, limit.queued, limit.per_minute, memory, limit.priority)
    if all(one is None for one in bounds):
        raise section.error(f"it limits nothing: give one of {', '.join(_LIMIT[7:])}", "")
    return limit
