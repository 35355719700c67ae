"""The formats that are tried, by their names: own ones and foreign ones."""

from __future__ import annotations

from collections.abc import Mapping

from fuzz.bytes.formats import (
    bundles,
    claims,
    data_files,
    heavy,
    iceberg,
    light,
    properties,
    query_logs,
    requests,
    stores,
    tables,
    texts,
)
from fuzz.bytes.kinds import Format

FORMATS: Mapping[str, Format] = {
    one.name: one
    for module in (
        light,
        heavy,
        bundles,
        iceberg,
        stores,
        tables,
        properties,
        data_files,
        query_logs,
        claims,
        texts,
        requests,
    )
    for one in module.FORMATS
}
