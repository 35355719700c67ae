"""`python -m bench.rooms` writes docs/rooms.md and docs/rooms.svg: the rooms as the code has them.

The page has a table per room with the first sentence of each file's docstring. The picture shows
which room imports which, drawn from the imports.
"""

from __future__ import annotations

import html
from collections.abc import Iterator
from dataclasses import dataclass

from bench.imports import HOUSE, PACKAGES, Layers, Sources, declared_layers, first_sentence

PAGE, PICTURE = HOUSE / "docs" / "rooms.md", HOUSE / "docs" / "rooms.svg"
_HEAD = """# Rooms

Made by `python -m bench.rooms` from the imports and docstrings; a test compares it with the code.

![Which room imports which](rooms.svg)

A row imports the columns that are filled. Rooms may import only rooms below them; import-linter
checks it. An import that breaks a contract would be red.
"""
_ROW, _CELL, _NAME, _FIGURES = 24, 24, 190, 80
_TEXT = 'font-family="system-ui, sans-serif" font-size="12"'


@dataclass(frozen=True, slots=True)
class Room:
    """A folder under a package: its modules, in the order of their names."""

    name: str
    modules: tuple[str, ...]


def page(sources: Sources, layers: list[Layers]) -> str:
    """Returns the text of docs/rooms.md."""
    rooms = [room for package in PACKAGES for room in _rooms(sources, layers, package)]
    return "\n".join([_HEAD, *(_table(sources, room) for room in rooms)])


def picture(sources: Sources, layers: list[Layers]) -> str:
    """Returns the SVG of docs/rooms.svg."""
    rooms = [room for package in PACKAGES for room in _rooms(sources, layers, package)]
    place = {room.name: number for number, room in enumerate(rooms)}
    filled = {
        (place[sources.room(module)], place[sources.room(other)])
        for module, used in sources.imports.items()
        for other in used
    }
    run_up = {
        (place[sources.room(above)], place[sources.room(below)])
        for one in layers
        for above, below in one.back_arrows(sources.imports)
    }
    left, top = _NAME + _FIGURES, _NAME
    width, height = left + _CELL * len(rooms) + 20, top + _ROW * len(rooms) + 20
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}"'
        f' height="{height}" {_TEXT}>',
        "<title>Which room imports which</title>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
    ]
    for row, room in enumerate(rooms):
        y = top + _ROW * row
        shade = "#f6f8fa" if row % 2 else "#ffffff"
        parts += [
            f'<rect x="0" y="{y}" width="{width}" height="{_ROW}" fill="{shade}"/>',
            f'<text x="8" y="{y + 16}" fill="#1f2328">{html.escape(_short(room.name))}</text>',
            f'<text x="{left - 12}" y="{y + 16}" text-anchor="end" fill="#59636e">'
            f"{len(room.modules)} files</text>",
            f'<text transform="translate({left + _CELL * row + 16} {top - 8}) rotate(-60)"'
            f' fill="#1f2328">{html.escape(_short(room.name))}</text>',
        ]
    for row, column in sorted(filled):
        x, y = left + _CELL * column, top + _ROW * row
        within = "#d0d7de" if row == column else "#b6d7ff"
        color = "#ffb3ad" if (row, column) in run_up else within
        parts.append(
            f'<rect x="{x + 1}" y="{y + 1}" width="{_CELL - 2}" height="{_ROW - 2}" rx="3"'
            f' fill="{color}"/>'
        )
    return "\n".join([*parts, "</svg>", ""])


def write() -> None:
    """Writes the page and the picture."""
    sources, layers = Sources.read(), declared_layers()
    PAGE.write_text(page(sources, layers))
    PICTURE.write_text(picture(sources, layers))


def _rooms(sources: Sources, layers: list[Layers], package: str) -> list[Room]:
    """Returns a package's rooms, top first; last, the package with the files that lie loose."""
    order = [
        f"{package}.{name}"
        for one in layers
        if one.package == package
        for layer in one.rooms
        for name in layer
    ]
    by_room: dict[str, list[str]] = {}
    for module in sorted(sources.files):
        by_room.setdefault(sources.room(module), []).append(module)
    mine = [name for name in by_room if name.partition(".")[0] == package and name != package]
    names = [*sorted(mine, key=lambda name: (_index(order, name), name)), package]
    return [Room(name, tuple(by_room[name])) for name in names if name in by_room]


def _index(order: list[str], name: str) -> int:
    return order.index(name) if name in order else len(order)


def _short(name: str) -> str:
    return name.removeprefix("accelerator.").replace(".", "/")


def _table(sources: Sources, room: Room) -> str:
    lines = [
        f"## {room.name.replace('.', '/')}",
        "",
        first_sentence(sources.trees[room.name]),
        "",
        "| file | |",
        "|---|---|",
        *_rows(sources, room),
        "",
    ]
    return "\n".join(lines)


def _rows(sources: Sources, room: Room) -> Iterator[str]:
    folder = HOUSE / room.name.replace(".", "/")
    for module in room.modules:
        file = sources.files[module]
        line = first_sentence(sources.trees[module]).replace("|", "\\|")
        if module != room.name and line:
            yield f"| `{file.relative_to(folder)}` | {line} |"


if __name__ == "__main__":
    write()
