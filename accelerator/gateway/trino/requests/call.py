"""CALL: the one procedure that there is, `system.runtime.kill_query`, and its arguments.

Promise: what is called is that procedure by its full name, or nothing is; each argument is a
constant, given once.
"""

from __future__ import annotations

from accelerator.errors import StatementError
from accelerator.gateway.trino.requests import nodes
from accelerator.gateway.trino.requests.cursor import TrinoCursor
from rewrite.parse.cursor import excerpt
from rewrite.text.suggestions import closest, did_you_mean

_KILL = ("system", "runtime", "kill_query")
_ARGUMENTS = ("query_id", "message")


class CallArgumentsError(StatementError):
    """Arguments that the procedure doesn't have, or lacks."""

    code = "call_arguments"


def called(cursor: TrinoCursor, catalog: str | None, schema: str | None) -> nodes.KillQuery | None:
    """What is asked behind CALL; None for another procedure.

    `catalog` and `schema` complete its name. StatementError where it's malformed,
    CallArgumentsError where its arguments aren't the procedure's.
    """
    path = cursor.path("a procedure's name")
    before = (catalog, schema)[: max(0, len(_KILL) - len(path))]
    if (*before, *path) != _KILL:
        return None
    given = _arguments(cursor)
    cursor.end()
    id = given.get("query_id")
    if id is None:
        raise CallArgumentsError(
            "kill_query needs a statement's id",
            hint="CALL system.runtime.kill_query(query_id => '…', message => '…')",
        )
    return nodes.KillQuery(id, given.get("message") or "")


def _arguments(cursor: TrinoCursor) -> dict[str, str | None]:
    """By name; all have names, or their places tell."""
    cursor.expect("(")
    found: dict[str, str | None] = {}
    named: set[bool] = set()
    while not cursor.at(")"):
        if named:
            cursor.expect(",")
        name = _name(cursor)
        named.add(bool(name))
        if len(named) > 1:
            raise CallArgumentsError("arguments all have names, or none of them has")
        if not name:
            if len(found) == len(_ARGUMENTS):
                raise CallArgumentsError(f"kill_query has {len(_ARGUMENTS)} arguments")
            name = _ARGUMENTS[len(found)]
        if name in found:
            raise CallArgumentsError(f"the argument {name} is given twice")
        found[name] = None if cursor.take("NULL") else cursor.text("a text in quotes")
    cursor.expect(")")
    return found


def _name(cursor: TrinoCursor) -> str:
    """The name before `=>`; empty where there is none."""
    equals, greater = cursor.peek(1), cursor.peek(2)
    if equals is None or greater is None or (equals.key, greater.key) != ("=", ">"):
        return ""
    name = cursor.name("an argument's name").name
    if name not in _ARGUMENTS:
        near = closest(name, _ARGUMENTS)
        raise CallArgumentsError(
            f"kill_query has no argument {excerpt(name)}",
            hint=did_you_mean(near) or f"its arguments are {' and '.join(_ARGUMENTS)}",
            suggestions=near,
        )
    cursor.expect("=", ">")
    return name
