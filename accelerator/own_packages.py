"""Whether Python finds this distribution's import packages, or others of the same names.

Others on PyPI have these names, too, and so may a folder beside a script. Nothing of ours is
imported here, since that is what fails then.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

NAMES = ("cubes", "indexes", "rewrite")
HINT = (
    "pip uninstall the distribution that has it, or run where no folder has that name; this one"
    f" needs its own {', '.join(NAMES)}"
)


def foreign() -> list[str]:
    """A sentence for each package of our names that isn't ours."""
    here = Path(__file__).parents[1]
    found = ((name, _folder(name)) for name in NAMES)
    return [
        f"the package {name} that Python finds isn't this one's, but in {folder or 'no place'}"
        for name, folder in found
        if folder != here / name
    ]


def _folder(name: str) -> Path | None:
    try:
        spec = find_spec(name)
    except ValueError:  # a module that somebody made without a file
        return None
    return Path(spec.origin).parent if spec is not None and spec.origin else None
