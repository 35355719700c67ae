"""DROP CUBE, UNDROP CUBE and SHOW RECYCLE BIN: what happens to a cube between its drop and its end.

A dropped cube's published table goes at once, since nothing would keep it up to date; its segments
stay until a VACUUM of its table finds that the cube's time is over.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from accelerator.errors import AcceleratorError, CubeNotFoundError, StoreError
from accelerator.query.statements.definitions import table_uuid
from accelerator.query.statements.nodes import ShowRecycleBin
from accelerator.services import publish
from accelerator.services.advisor.apply import user_changes
from accelerator.services.ddl.cubes.create import check_name
from accelerator.store import CubeRecord, DroppedCube

if TYPE_CHECKING:
    from accelerator.query.runtime.services import Services

# Times of expiry must be times that every reader of Arrow can say.
HOURS_MAX = 100 * 365 * 24


def drop(
    services: Services, name: str, *, force: bool, cube_id: str = "", is_advised: bool = False
) -> None:
    """Drops a cube: to the recycle bin, or at once by `force` or where nothing is kept in it.

    CubeNotFoundError where it isn't the one of the id given. Unless it's advised, the advisor will
    know that a person did it.

    Its published table goes first: should this process end in between, the cube is still there, and
    its next build publishes it again. The other way round nobody would know of the table.
    """
    services.store.check_writable()
    found = services.store.registry(fresh=True).named(name)
    publish.check_drop(services, found)
    if not is_advised:
        user_changes.note(services, "dropped", found)
    publish.drop_published(services, found)
    keep_ms = _keep_ms(services)
    if force or not keep_ms:
        dropped = services.store.drop_cube(name, cube_id=cube_id)
    else:
        dropped = services.store.recycle_cube(name, keep_ms, cube_id=cube_id)
    publish.drop_published(services, dropped)  # it may have been published meanwhile


def recycle_of_gone_table(services: Services, table_uuid: str, catalog: str) -> list[str]:
    """Moves the cubes of a table that its catalog has under no name any more; their names.

    A published one stays as it is: its table still answers. Nothing moves on a doubt.
    """
    found = [r for r in services.store.registry().cubes.values() if r.table_uuid == table_uuid]
    found = [record for record in found if record.published is None]
    try:
        if not found or services.lake.holds(catalog, table_uuid) is not False:
            return []
    except AcceleratorError:
        return []
    moved = []
    for record in found:
        with suppress(CubeNotFoundError):  # dropped or replaced meanwhile
            services.store.recycle_cube(record.name, _keep_ms(services), cube_id=record.id)
            moved.append(record.name)
    return moved


def _keep_ms(services: Services) -> int:
    return int(min(services.config.recycle_bin_hours, HOURS_MAX) * 3_600_000)


def undrop(services: Services, name: str, new_name: str | None) -> str:
    """Brings back the cube that was dropped last under the name; the name that it has now."""
    if new_name is not None:
        check_name(new_name)
    cube = services.store.undrop_cube(name, new_name or name)
    user_changes.note(services, "undropped", cube)
    return cube.name


def show(statement: ShowRecycleBin, services: Services) -> list[dict[str, object]]:
    """What is in the bin, the newest first; of one table or of all."""
    wanted = table_uuid(services, statement.table)
    return [
        _row(services, one)
        for one in reversed(services.store.registry().bin)
        if wanted in (None, one.cube.table_uuid)
    ]


def _row(services: Services, dropped: DroppedCube) -> dict[str, object]:
    cube = dropped.cube
    return {
        "name": cube.name,
        "table": cube.table,
        "kind": "cube",
        "id": cube.id,
        "dropped_at": dropped.dropped_ms,
        "expires_at": dropped.expires_ms,
        "bytes": _bytes(services, cube),
    }


def _bytes(services: Services, cube: CubeRecord) -> int | None:
    """What its segments take; None where the store's state of its table can't be read."""
    try:
        return sum(one.bytes for one in services.store.table(cube.table_uuid).of(cube.id))
    except StoreError:
        return None
