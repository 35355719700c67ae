"""DESCRIBE NAMESPACE: what a catalog keeps of a namespace."""

from __future__ import annotations

import pyarrow as pa

from accelerator.iceberg.spark_text.tables import is_masked
from accelerator.query.catalog_statements import nodes
from accelerator.query.catalog_statements.listings import texts
from accelerator.query.catalog_statements.names import SessionNames
from rewrite.identifiers.quoting import quoted
from rewrite.reason import CATALOG_NEEDS_SPARK as NEEDS_SPARK
from rewrite.reason import DeclinedError

_RESERVED = ("comment", "collation", "location", "owner")
"""Properties that Spark shows apart, in its order."""


def described(statement: nodes.DescribeNamespace, names: SessionNames) -> pa.Table:
    """The properties of a namespace."""
    catalog, namespace = names.place(statement.name)
    names.check(catalog, namespace)
    kept = names.properties(catalog, namespace)
    rows: list[tuple[str | None, ...]] = [
        ("Catalog Name", catalog),
        ("Namespace Name", quoted(namespace)),
    ]
    rows += [(one.capitalize(), kept[one]) for one in _RESERVED if one in kept]
    if statement.extended:
        others = sorted((key, value) for key, value in kept.items() if key not in _RESERVED)
        if any(is_masked(key, value) for key, value in others):
            raise DeclinedError(NEEDS_SPARK, "Spark masks a property.")
        shown = ", ".join(f"({key},{value})" for key, value in others)
        rows.append(("Properties", f"({shown})" if others else ""))
    return texts(("info_name", "info_value"), rows, nullable="info_value")
