"""Whether views give the same as long as their tables stay as they are: such answers may be kept.

A client's own text is looked through by the gateway; what its views say is known to workers alone.
Promise: a view that asks for the moment, for who asks, or for chance never counts as lasting.
"""

from __future__ import annotations

from sqlglot import exp

from accelerator.gateway.table_versions import Name, Versions, views_of
from accelerator.query.runtime.services import Services
from rewrite.analysis.determinism import undetermined
from rewrite.parse.parse import PARSER_FAILS, parse

_WITHOUT_PARENTHESES = frozenset(
    {
        *("current_catalog", "current_database", "current_date", "current_schema", "current_time"),
        *("current_timestamp", "current_timezone", "current_user", "localtime", "localtimestamp"),
        *("session_user", "user"),
    }
)
"""What Spark may take for a function where there is no such column."""
_WHO = frozenset({"current_user", "session_user", "user"})
_MOMENTS = ("now", "today", "tomorrow", "yesterday")
"""How texts begin that are moments where a time is written: TIMESTAMP 'now', DATE 'today UTC'."""


def are_lasting(known: Versions, services: Services) -> bool:
    """Whether each view among them is."""
    views = list(views_of(known))
    if not views:
        return True
    pin = services.lake.pin()
    for name in views:
        view = pin.view(name)
        if view is None or not is_lasting(view.sql):
            return False
    return True


def asking_who(known: Versions, services: Services) -> Name | None:
    """A view among them whose answer depends on who asks: to Spark that is who runs the worker."""
    pin = services.lake.pin()
    for name in views_of(known):
        view = pin.view(name)
        if view is None or _asks_who(view.sql):
            return name
    return None


def _asks_who(sql: str) -> bool:
    try:
        nodes = list(parse(sql).walk())
    except (*PARSER_FAILS, RecursionError):
        return True
    return any(
        isinstance(node, (exp.CurrentUser, exp.SessionUser))
        or (isinstance(node, exp.Anonymous) and node.name.lower() in _WHO)
        or (isinstance(node, exp.Column) and len(node.parts) == 1 and node.name.lower() in _WHO)
        for node in nodes
    )


def is_lasting(sql: str) -> bool:
    """Whether the query, of Spark's, gives the same whenever and by whomever it's asked.

    >>> is_lasting("SELECT max(a) FROM t"), is_lasting("SELECT a FROM t WHERE at < now()")
    (True, False)
    """
    try:
        tree = parse(sql)
        return undetermined(tree) is None and not any(map(_is_momentary, tree.walk()))
    except (*PARSER_FAILS, RecursionError):
        return False


def _is_momentary(node: exp.Expr) -> bool:
    if isinstance(node, exp.Column):
        return len(node.parts) == 1 and node.name.lower() in _WITHOUT_PARENTHESES
    if isinstance(node, exp.Literal) and node.is_string:
        return str(node.this).strip().lower().startswith(_MOMENTS)
    return False
