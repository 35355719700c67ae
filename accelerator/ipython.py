"""`%accelerate` and `%%accelerate` in IPython and notebooks, once `%load_ext accelerator` has run.

Promises: `:name` in a statement is the value of that variable, bound by type; nothing of the
namespace is ever spliced into a text, so `{name}` and `$name` stay as they're written. An error is
told in its own words, without the stack behind it.
"""

from __future__ import annotations

import atexit
import keyword
import re
import shlex
from collections.abc import Mapping, MutableMapping
from pathlib import Path
from typing import Any

from accelerator.errors import AcceleratorError, ConfigError, ParameterError
from accelerator.query.parameters import named_in
from accelerator.session.opening import open as open_warehouse
from accelerator.session.session import Accelerator
from rewrite.text.printable import printable
from rewrite.text.suggestions import closest, did_you_mean

_OPTION = re.compile(r"\s*(--session|-s|--output|-o)(?:\s*=\s*|\s+)(\S+)(?:\s+|$)")
_KEPT = re.compile(r"\s*(\w+)\s*<<(?:\s+|$)")
_COMMAND = re.compile(r"\s*(open|close)(?:\s+(.*))?$", re.DOTALL)
_USAGE = "%accelerate open PATH [name=value …], or %%accelerate [-o NAME] over a statement"


def register(shell: Any) -> None:
    """Gives the shell the magic, as a line and as a cell."""
    from IPython.core.magic import no_var_expand

    magic = _Magic(shell.user_ns)

    def accelerate(line: str, cell: str | None = None) -> object:
        return magic.run(line, cell)

    accelerate.__doc__ = f"""Runs a statement, or opens a session: {_USAGE}."""
    no_var_expand(accelerate)
    shell.register_magic_function(accelerate, magic_kind="line_cell")
    atexit.register(magic.close)


class _Magic:
    """That of one shell, with the session that it has opened."""

    def __init__(self, namespace: MutableMapping[str, Any]) -> None:
        self._namespace = namespace
        self._opened: Accelerator | None = None

    def close(self) -> None:
        """Closes the session that it has opened."""
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    def run(self, line: str, cell: str | None = None) -> object:
        """One magic; what it gives is displayed."""
        try:
            return self._run(line, cell)
        except AcceleratorError as error:
            _shorten_traceback(error)
            raise

    def _run(self, line: str, cell: str | None) -> object:
        command = _COMMAND.match(line)
        if command and cell is None:
            if command[1] == "open":
                return self._open(command[2] or "")
            self.close()
            return None
        options, left = _options(line)
        kept, left = _output_variable(options, left)
        sql = left if cell is None else f"{left}\n{cell}"
        session = self._session(options.get("session"))
        if not sql.strip():
            return session
        values = {name: self._value(name) for name in named_in(sql)}
        result = session.query(sql, values)
        if kept is None:
            return result
        self._namespace[kept] = result
        return result if "output" in options else None

    def _open(self, words: str) -> Accelerator:
        settings: dict[str, Any] = {}
        paths = []
        try:
            given = shlex.split(words)
        except ValueError as error:
            raise ConfigError(f"the line can't be read: {error}", hint=_USAGE) from error
        for word in given:
            name, equals, value = word.partition("=")
            if equals and name.isidentifier():
                settings[name] = value
            else:
                paths.append(word)
        if len(paths) > 1:
            raise ConfigError(f"one path is wanted, not {len(paths)}", hint=_USAGE)
        where = Path(paths[0]).expanduser() if paths else None
        opened = open_warehouse(where, **settings)
        opened.source = opened.source or "accelerator ipython"
        self.close()
        self._opened = opened
        return opened

    def _session(self, name: str | None) -> Accelerator:
        """The one that is named, else the one that was opened here, else the only one there is."""
        known = _open_ones(self._namespace)
        if name is not None:
            if name not in known:
                hint = did_you_mean(closest(name, known, 1)) or _USAGE
                raise ConfigError(f"no open session is named {name}", hint=hint)
            return known[name]
        if self._opened is not None and not self._opened.closed:
            return self._opened
        found = {id(one): one for one in known.values()}
        if len(found) == 1:
            return next(iter(found.values()))
        if not found:
            raise ConfigError("there is no open session", hint=_USAGE)
        names = ", ".join(sorted(one for one in known if not one.startswith("_")))
        raise ConfigError(f"there are several sessions: {names}", hint="name one by --session")

    def _value(self, name: str) -> Any:
        if name not in self._namespace:
            hint = did_you_mean(closest(name, self._namespace, 1))
            raise ParameterError(
                f"no variable is named {name}", hint=hint or ":name takes a variable's value"
            )
        return self._namespace[name]


def _open_ones(namespace: Mapping[str, Any]) -> dict[str, Accelerator]:
    """The open sessions among variables."""
    return {
        name: one
        for name, one in namespace.items()
        if isinstance(one, Accelerator) and not one.closed
    }


def _options(line: str) -> tuple[Mapping[str, str], str]:
    """Options at its beginning, and what is left."""
    found: dict[str, str] = {}
    while option := _OPTION.match(line):
        name = "session" if option[1] in ("-s", "--session") else "output"
        found[name] = option[2]
        line = line[option.end() :]
    if re.match(r"\s*-[-\w]", line) and not re.match(r"\s*--(\s|$)", line):
        raise ConfigError(f"unknown option {line.split()[0]}", hint=_USAGE)
    return found, line


def _output_variable(options: Mapping[str, str], line: str) -> tuple[str | None, str]:
    """The variable that gets the result, and what is left of the line."""
    named = _KEPT.match(line)
    kept = options.get("output", named[1] if named else None)
    if kept is not None and (not kept.isidentifier() or keyword.iskeyword(kept)):
        raise ConfigError(f"no variable can be named {kept}", hint=_USAGE)
    return kept, line[named.end() :] if named else line


def _shorten_traceback(error: AcceleratorError) -> None:
    """IPython asks an exception how it's to be shown."""
    text = printable(f"{type(error).__name__}: {error}")
    error.__dict__["_render_traceback_"] = text.splitlines
