"""What one user may do, as a value that goes to workers: rules that are the user's, put in order.

Default is no. What a rule denies stays denied, whatever others allow. Promises: two of them have
one fingerprint iff their rules are the same; what is read from JSON is checked like any input.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from hashlib import blake2b
from typing import Annotated, Any, Literal, cast, get_args

from msgspec import Meta, Struct, convert

from accelerator.common.records.as_dict import as_dict
from accelerator.errors import ConfigError
from accelerator.gateway.access.name_patterns import LENGTH_MAX, Glob, Levels, broad, narrow
from rewrite.identifiers.qualified_name import joined
from rewrite.text.printable import one_line, shortened

Action = Literal["read", "write", "change", "manage", "impersonate", "kill", "metrics"]
Kind = Literal["table", "cube", "index", "user", "gateway"]
Effect = Literal["allow", "deny"]
ACTIONS: tuple[Action, ...] = get_args(Action)
KINDS_OF: Mapping[Action, tuple[Kind, ...]] = {
    "read": ("table",),
    "write": ("table",),
    "change": ("table",),
    "manage": ("cube", "index"),
    "impersonate": ("user",),
    "kill": ("user",),
    "metrics": ("gateway",),
}
"""What each action can be done to."""
_SEEN: tuple[Action, ...] = ("read", "write", "change")
_PARTS: Mapping[Kind, int] = {"table": 3, "cube": 1, "index": 1, "user": 1, "gateway": 0}
_GRANTS_MAX = 20_000
_SHOWN_MAX = 200


class Object(Struct, frozen=True):
    """What an action is done to. A table's or view's name is its catalog, namespace and own one.

    A namespace of several parts is one text here, with dots between them.
    """

    kind: Kind
    name: tuple[str, ...] = ()

    @classmethod
    def table(cls, full: tuple[str, ...]) -> Object:
        """The table or view of that full name; one without a namespace has an empty one."""
        if len(full) < 2:  # of a record that somebody else wrote
            return cls("table", ("", "", "".join(full)))
        return cls("table", (full[0], ".".join(full[1:-1]), full[-1]))

    def __str__(self) -> str:
        """As messages name it: in one line, and not at any length."""
        if self.kind == "gateway":
            return "the gateway"
        text = one_line(joined(tuple(part for part in self.name if part)))
        return f"{self.kind} {shortened(text, _SHOWN_MAX)}"


GATEWAY = Object("gateway")


class Grant(Struct, frozen=True, order=True, array_like=True, forbid_unknown_fields=True):
    """One action on all objects of a pattern, allowed or denied; a list in JSON."""

    effect: Effect
    action: Action
    kind: Kind
    pattern: tuple[Annotated[str, Meta(min_length=1, max_length=LENGTH_MAX)], ...]


class _Rule:
    """A grant that can be asked."""

    def __init__(self, grant: Grant) -> None:
        self.effect = grant.effect
        self.globs: tuple[Glob | Levels, ...]
        if grant.kind == "user":  # users' names have their case
            self.globs = tuple(Glob.exact(part) for part in grant.pattern)
        elif grant.effect == "deny":
            self.globs = tuple(Glob.of(part, broadly=True) for part in grant.pattern)
        else:
            self.globs = tuple(map(Glob.of, grant.pattern))
            if grant.kind == "table":
                catalog, namespace, name = grant.pattern
                self.globs = Glob.of(catalog), Levels.of(namespace), Glob.of(name)

    def matches(self, exact: tuple[str, ...], broadly: tuple[str, ...]) -> bool:
        name = broadly if self.effect == "deny" else exact
        return all(glob.matches(part) for glob, part in zip(self.globs, name, strict=True))

    def hides(self, above: tuple[str, ...]) -> bool:
        """Whether it's of all that is below a catalog or namespace."""
        return self.matches_above(above) and all(one.is_any for one in self.globs[len(above) :])

    def matches_above(self, above: tuple[str, ...]) -> bool:
        """Whether it's of something below a catalog or namespace."""
        return all(glob.matches(part) for glob, part in zip(self.globs, above, strict=False))


class UserAccess(Struct, frozen=True, dict=True):
    """The rules of one user; `everything` where there is no policy, which allows whatever runs."""

    grants: tuple[Grant, ...] = ()
    everything: bool = False

    @classmethod
    def of(cls, grants: Iterable[Grant]) -> UserAccess:
        """Of rules in any order."""
        return cls(tuple(sorted(set(grants))))

    @classmethod
    def all(cls) -> UserAccess:
        """Without a policy."""
        return cls(everything=True)

    def may(self, action: Action, object: Object) -> bool:
        """Whether some rule allows it and none denies it."""
        if self.everything:
            return True
        rules = self._rules.get((action, object.kind), ())
        if not rules or len(object.name) != _PARTS[object.kind]:
            return False
        if object.kind == "user":
            exact = broadly = object.name
        else:
            exact = tuple(map(narrow, object.name))
            broadly = tuple(map(broad, object.name))
        allowed = False
        for rule in rules:  # those that deny come first
            if rule.matches(exact, broadly):
                if rule.effect == "deny":
                    return False
                allowed = True
                break
        return allowed

    def sees(self, catalog: str, schema: str | None = None, table: str | None = None) -> bool:
        """Whether listings show it: a table that may be read, written or changed, or its holder.

        A schema of several parts has dots between them.
        """
        if self.everything:
            return True
        if schema is not None and table is not None:
            object = Object("table", (catalog, schema, table))
            return any(self.may(action, object) for action in _SEEN)
        above = (catalog,) if schema is None else (catalog, schema)
        return any(self._sees_below(action, above) for action in _SEEN)

    def _sees_below(self, action: str, above: tuple[str, ...]) -> bool:
        exact, broadly = tuple(map(narrow, above)), tuple(map(broad, above))
        rules = self._rules.get((cast(Action, action), "table"), ())
        if any(one.effect == "deny" and one.hides(broadly) for one in rules):
            return False
        return any(one.effect == "allow" and one.matches_above(exact) for one in rules)

    @cached_property
    def _rules(self) -> Mapping[tuple[Action, Kind], tuple[_Rule, ...]]:
        """By what they are of; those that deny first."""
        found: dict[tuple[Action, Kind], list[_Rule]] = {}
        for grant in sorted(self.grants, key=lambda one: one.effect != "deny"):
            found.setdefault((grant.action, grant.kind), []).append(_Rule(grant))
        return {key: tuple(rules) for key, rules in found.items()}

    @cached_property
    def fingerprint(self) -> str:
        """32 hexadecimal digits that stand for these rules."""
        import json

        text = json.dumps(UserAccess.of(self.grants).to_json() | {"everything": self.everything})
        return blake2b(text.encode(), digest_size=16).hexdigest()

    def to_json(self) -> dict[str, Any]:
        """Returns JSON values."""
        return {"format": 1, "everything": self.everything, "grants": as_dict(self.grants)}

    @classmethod
    def from_json(cls, raw: object) -> UserAccess:
        """The inverse of `to_json`; ConfigError for any other value."""
        try:
            return cls._checked(convert(raw, _AccessMessage))
        except ValueError as error:
            raise ConfigError(
                f"rules of access can't be read: {type(error).__name__}",
                hint="one release writes them and the same one reads them",
            ) from error

    @classmethod
    def _checked(cls, read: _AccessMessage) -> UserAccess:
        if read.everything and read.grants:
            raise ValueError("rules beside everything")
        if read.grants != tuple(sorted(set(read.grants))):
            raise ValueError("rules that aren't in order")
        for one in read.grants:
            if one.kind not in KINDS_OF[one.action] or len(one.pattern) != _PARTS[one.kind]:
                raise ValueError("a rule of a kind that its action hasn't, or of other parts")
        return cls(read.grants, read.everything)


class _AccessMessage(Struct, frozen=True, forbid_unknown_fields=True):
    format: Literal[1]
    everything: bool
    grants: Annotated[tuple[Grant, ...], Meta(max_length=_GRANTS_MAX)]
