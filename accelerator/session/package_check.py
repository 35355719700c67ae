"""Checks that Python finds this distribution's import packages, not others of their names.

Others on PyPI have these names, too, and so may a folder beside a script. Another distribution may
also have written its files over ours, in the same folder. Nothing of ours is imported here, since
that is what fails then.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution, distributions
from importlib.util import find_spec
from pathlib import Path

NAMES = ("cubes", "indexes", "rewrite")
HINT = (
    "pip uninstall the distribution that has it, or run where no folder has that name; this one"
    f" needs its own {', '.join(NAMES)}"
)
_OWN = "lakehouse-accelerator"


def faults() -> list[tuple[str, str]]:
    """Lists the faults of our packages: a sentence and a hint each.

    Packages in other folders are left out if ours are damaged: that may be why they aren't found.
    """
    return overwritten() or [(sentence, HINT) for sentence in foreign()]


def foreign() -> list[str]:
    """A sentence for each package of our names that isn't ours."""
    here = Path(__file__).parents[2]
    found = ((name, _folder(name)) for name in NAMES)
    return [
        f"the package {name} that Python finds isn't this one's, but in {folder or 'no place'}"
        for name, folder in found
        if folder != here / name
    ]


def overwritten() -> list[tuple[str, str]]:
    """A sentence and a hint for each package with files that aren't as pip installed them."""
    changed: dict[str, list[str]] = {}
    for path in _changed():
        changed.setdefault(path.split("/")[0], []).append(path)
    if not changed:
        return []
    others = " ".join(name for name, _ in sharing())
    first = f"pip uninstall {others}, then " if others else ""
    hint = f"{first}pip install --force-reinstall --no-deps {_OWN}"
    return [
        (
            f"the package {name} isn't as it was installed: {paths[0]} differs or is gone"
            f"{f', and so do {len(paths) - 1} more' if len(paths) > 1 else ''}",
            hint,
        )
        for name, paths in changed.items()
    ]


def sharing() -> list[tuple[str, str]]:
    """The name of each other distribution that has files in our packages, with its version."""
    return sorted(
        {
            (other.metadata["Name"], other.version)
            for other in distributions()
            if (other.metadata["Name"] or _OWN) != _OWN and _has_our_files(other)
        }
    )


def _has_our_files(other: Distribution) -> bool:
    listed = f"\n{other.read_text('RECORD') or ''}"
    return any(f"\n{name}/" in listed for name in NAMES)


def _changed() -> Iterator[str]:
    """Paths of our files that aren't as the wheel had them; none of an editable installation."""
    try:
        files = distribution(_OWN).files or ()
    except PackageNotFoundError:
        return
    for path in files:
        if path.parts[0] in ("accelerator", *NAMES) and path.hash is not None:
            try:
                content = Path(str(path.locate())).read_bytes()
            except OSError:
                yield str(path)
                continue
            digest = hashlib.new(path.hash.mode, content).digest()
            if base64.urlsafe_b64encode(digest).decode().rstrip("=") != path.hash.value:
                yield str(path)


def _folder(name: str) -> Path | None:
    try:
        spec = find_spec(name)
    except ValueError:  # a module that somebody made without a file
        return None
    return Path(spec.origin).parent if spec is not None and spec.origin else None
