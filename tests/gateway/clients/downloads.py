"""Clients of Trino's from the package registries, kept in the user's cache; each has a pinned hash.

A test that needs one is skipped, with the reason, where its language or the network isn't there.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

_LIMIT_S = 300
_GO_MODULE = "github.com/trinodb/trino-go-client v0.328.0"
_GO_SUM = "h1:X6hrGGysA3nvyVcz8kJbBS98srLNTNsnNYwRkMC1atA="
_NPM_PACKAGE = "trino-client@0.2.9"
_NPM_SUM = (
    "sha512-bINcQxDH5v9DR1zqXtoNqnRJ5leYMyYzRuFZLsoqg4irWYPDh/4w"
    "BndC8c2x+QfNIOr6c35BtHKOwotelqSATg=="
)


def cache() -> Path:
    """The folder in which they're kept."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    found = Path(base) / "lakehouse-accelerator-tests" / "clients"
    found.mkdir(parents=True, exist_ok=True)
    return found


def tool(name: str, what: str) -> str:
    """The path of a program; the test is skipped where there is none."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} isn't installed: {what} can't be tested")
    return found


def trino_cli() -> Path:
    """The command line client, a jar that is run."""
    return _of_maven(
        "io.trino:trino-cli:476:jar:executable",
        "trino-cli-476-executable.jar",
        "fe4e9c7fb569cd67673afa1622945f6308e1e59bdb825419352b80887661757b",
    )


def trino_jdbc() -> Path:
    """The JDBC driver's jar."""
    return _of_maven(
        "io.trino:trino-jdbc:484",
        "trino-jdbc-484.jar",
        "46476af2968e6f3234e8b22d7e29c26e6d7213ce88ab546a29c4c318c921cd34",
    )


def trino_js() -> Path:
    """A folder with npm's package installed."""
    npm = tool("npm", "npm's client")
    folder = cache() / "npm"
    lock = folder / "package-lock.json"
    if not lock.exists():
        folder.mkdir(exist_ok=True)
        (folder / "package.json").write_text('{"private": true}')
        _fetched(
            [npm, "install", "--no-audit", "--no-fund", "--ignore-scripts", _NPM_PACKAGE], folder
        )
    known = json.loads(lock.read_text())["packages"]["node_modules/trino-client"]
    assert known["integrity"] == _NPM_SUM, "npm has given another package"
    return folder


def trino_go(main: str) -> Path:
    """A folder with a Go program that uses the client, and whose modules are there."""
    go = tool("go", "Go's client")
    folder = cache() / "go"
    folder.mkdir(exist_ok=True)
    (folder / "main.go").write_text(main)
    (folder / "go.mod").write_text(f"module asking\n\ngo 1.24\n\nrequire {_GO_MODULE}\n")
    (folder / "go.sum").write_text(f"{_GO_MODULE} {_GO_SUM}\n")  # go itself compares it
    _fetched([go, "mod", "tidy"], folder)
    return folder


def _of_maven(artifact: str, name: str, sha256: str) -> Path:
    tool("java", artifact)
    maven = tool("mvn", artifact)
    path = cache() / name
    if not path.exists():
        asked = f"-Dartifact={artifact}", f"-DoutputDirectory={cache()}"
        _fetched([maven, "-q", "-B", "dependency:copy", *asked], cache())
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != sha256:
        path.unlink()
        pytest.fail(f"{artifact} has another hash than the pinned one: {found}")
    return path


def _fetched(command: list[str], folder: Path) -> None:
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=_LIMIT_S, check=False
    )
    if done.returncode:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:]
        pytest.skip(f"{command[0]} can't fetch it, is there a network? {last}")
