"""Real Chinese text: 311,855 poems of the Tang and Song, out of the npm package `chinese-poetry`.

`npm pack` fetches the package once into a folder that is kept; a checksum says whether it's the one
that is meant. Nothing of it is part of this project.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import tarfile
from pathlib import Path

import pyarrow as pa

PACKAGE = "chinese-poetry-2.0.1"
_SHA256 = "25b549e46919c3a0569db6b68ddc96956b04a484ea4518ad2bbd4f137e307e86"
_POEMS = "package/dist/quantangshi/poet."


def fetched(folder: Path) -> Path:
    """The package's archive in that folder, fetched where it isn't there.

    SystemExit where npm isn't there or fails, or gives something else.
    """
    archive = folder / f"{PACKAGE}.tgz"
    if not archive.exists():
        folder.mkdir(parents=True, exist_ok=True)
        name, _, version = PACKAGE.rpartition("-")
        command = ["npm", "pack", "--silent", f"{name}@{version}", "--pack-destination", "."]
        try:
            subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
        except FileNotFoundError:
            raise SystemExit("npm isn't there: install Node.js, e.g. apt-get install npm") from None
        except subprocess.CalledProcessError as error:
            raise SystemExit(f"npm can't fetch {PACKAGE}: {error.stderr.strip()}") from None
    found = hashlib.sha256(archive.read_bytes()).hexdigest()
    if found != _SHA256:
        raise SystemExit(f"{archive} isn't {PACKAGE}: its SHA-256 is {found}; delete it")
    return archive


def read(archive: Path) -> pa.Table:
    """All poems: `id`, `author`, `title`, and `text`, one line for each of theirs."""
    rows = []
    with tarfile.open(archive) as members:
        for member in members:
            if member.name.startswith(_POEMS):
                stored = members.extractfile(member)
                if stored is not None:
                    rows += json.load(stored)
    return pa.table(
        {
            "id": [one["id"] for one in rows],
            "author": [one["author"] for one in rows],
            "title": [one["title"] for one in rows],
            "text": ["\n".join(one["paragraphs"]) for one in rows],
        }
    )
