"""The warehouse of `accelerator sample`: sales of a chain of shops, made anew on each machine.

Nothing is downloaded, no JVM is started, and every machine gets the same rows. The catalog is that
of `accelerator.open(folder, create=True)`, so every other command works on it.
"""

from __future__ import annotations

import datetime as dt
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from accelerator.common.config.config import CATALOG_FILE, Config
from accelerator.common.files.file_uri import uri_of
from accelerator.errors import ConfigError

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

MONTHS = 12
ROWS_A_MONTH = 100_000
_SEED = 20_240_101
_CATALOG = Config().catalog_name
_FIRST_DAY = dt.date(2024, 1, 1)
_REGIONS = {
    "AMERICA": ("Austin", "Bogota", "Denver", "Lima", "Montreal", "Quito", "Recife", "Toronto"),
    "ASIA": ("Busan", "Chengdu", "Delhi", "Hanoi", "Jakarta", "Osaka", "Pune", "Xiamen"),
    "EUROPE": ("Bergen", "Gdansk", "Lyon", "Malmo", "Porto", "Turin", "Utrecht", "Vienna"),
}
_CATEGORIES = ("books", "clothes", "games", "garden", "kitchen", "music", "sports", "tools")
_PRODUCTS = 200
_CUSTOMERS = 30_000
# Multiplied by an odd number, numbers below 2**40 are permuted: every file has ids of all sizes.
_SPREAD, _IDS = 0x9E37_79B1, (1 << 40) - 1


def make_sample(
    folder: Path, tell: Callable[[str], None] = lambda _text: None, *, catalog: str = _CATALOG
) -> int:
    """Makes the warehouse in a folder that is empty or isn't there; returns the rows of sales.

    The tables are in a catalog of that name. `tell` is called with the name of each step.
    ConfigError if the folder isn't empty, can't be written or has a name that an address writes in
    another way. An error leaves nothing there.
    """
    folder = folder.absolute()
    was_there = folder.exists()
    if was_there and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError(
            f"the sample can't be made in {folder}: something is there already",
            hint="name a folder that is empty or isn't there",
        )
    if uri_of(folder) != f"file://{folder}":  # tables would lie in a folder of another name
        raise ConfigError(
            f"the sample can't be made in {folder}: its address would be {uri_of(folder)}",
            hint="name a folder whose whole path has no #, ? and %",
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return _fill(folder, tell, catalog)
    except BaseException as error:
        _remove(folder, keep=was_there)
        if not isinstance(error, OSError):
            raise
        raise ConfigError(
            f"the sample can't be made in {folder}: {error.strerror or error}",
            hint="name a folder that you may write to, on a disk with 100 MB left",
        ) from error


def _remove(folder: Path, *, keep: bool) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    if keep:
        folder.mkdir(exist_ok=True)


def _fill(folder: Path, tell: Callable[[str], None], name: str) -> int:
    import numpy as np
    from pyiceberg.catalog.sql import SqlCatalog

    random = np.random.default_rng(_SEED)
    catalog = SqlCatalog(
        name,
        uri=f"sqlite:///{folder / CATALOG_FILE}",
        warehouse=uri_of(folder),
    )
    try:
        catalog.create_namespace("shop")
        for table, rows in (("stores", _stores()), ("products", _products())):
            tell(f"shop.{table}")
            catalog.create_table(f"shop.{table}", rows.schema).append(rows)
        sales = None
        for month in range(MONTHS):
            tell(f"shop.sales, month {month + 1} of {MONTHS}")
            rows = _sales(month, random)
            sales = sales or catalog.create_table("shop.sales", rows.schema)
            sales.append(rows)
    finally:
        catalog.close()
    return MONTHS * ROWS_A_MONTH


def _stores() -> pa.Table:
    import pyarrow as pa

    places = [(city, region) for region, cities in _REGIONS.items() for city in cities]
    return pa.table(
        {
            "store": pa.array(range(1, len(places) + 1), pa.int32()),
            "city": [city for city, _ in places],
            "region": [region for _, region in places],
        }
    )


def _products() -> pa.Table:
    import pyarrow as pa

    numbers = range(1, _PRODUCTS + 1)
    categories = [_CATEGORIES[number % len(_CATEGORIES)] for number in numbers]
    return pa.table(
        {
            "product": pa.array(numbers, pa.int32()),
            "name": [
                f"{category} {number}" for category, number in zip(categories, numbers, strict=True)
            ],
            "category": categories,
        }
    )


def _sales(month: int, random: np.random.Generator) -> pa.Table:
    """One month's rows, by day."""
    import numpy as np
    import pyarrow as pa

    first = _FIRST_DAY.replace(month=month + 1)
    days = ((first + dt.timedelta(days=31)).replace(day=1) - first).days
    begin = (first - dt.date(1970, 1, 1)).days
    numbers = np.arange(ROWS_A_MONTH, dtype=np.int64) + month * ROWS_A_MONTH
    quantity = random.integers(1, 6, ROWS_A_MONTH, dtype=np.int32)
    stores = sum(map(len, _REGIONS.values()))
    cents = quantity * random.integers(199, 9_999, ROWS_A_MONTH)
    return pa.table(
        {
            "order_id": (numbers * _SPREAD) & _IDS,
            "sold_on": pa.array(
                np.sort(random.integers(begin, begin + days, ROWS_A_MONTH)).astype(np.int32)
            ).cast(pa.date32()),
            "store": random.integers(1, stores + 1, ROWS_A_MONTH, dtype=np.int32),
            "product": random.integers(1, _PRODUCTS + 1, ROWS_A_MONTH, dtype=np.int32),
            "customer": random.integers(1, _CUSTOMERS + 1, ROWS_A_MONTH),
            "quantity": quantity,
            "amount": _decimals(cents),
        }
    )


def _decimals(cents: np.ndarray) -> pa.Array:
    """Amounts of money from whole cents that aren't negative."""
    import numpy as np
    import pyarrow as pa

    words = np.zeros((len(cents), 2), dtype=np.int64)  # the lower and the upper half of each
    words[:, 0] = cents
    buffers = [None, pa.py_buffer(words.tobytes())]
    return pa.Array.from_buffers(pa.decimal128(9, 2), len(cents), buffers)
