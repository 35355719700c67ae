"""A `RowBlock` as SQL over a table that holds its columns under their own names."""

from __future__ import annotations

from rewrite.ir.block import SortKey
from rewrite.ir.expr import Expr
from rewrite.ir.row_block import RowBlock
from rewrite.render.expressions import Dialect, Renderer, column_sql


def renderer(dialect: Dialect) -> Renderer:
    """Writes expressions over the table's columns."""
    return Renderer(dialect, lambda column: column_sql(column, dialect))


def where_sql(block: RowBlock, dialect: Dialect) -> str:
    """The WHERE clause, with a blank before it; empty where there is none."""
    render = renderer(dialect)
    conditions = [render.text(c) for c in block.conjuncts]
    return f" WHERE {' AND '.join(conditions)}" if conditions else ""


def order_sql(keys: tuple[SortKey, ...], names: list[str]) -> str:
    """The ORDER BY clause over columns of these names, with a blank before it."""
    items = []
    for key, name in zip(keys, names, strict=True):
        direction = "DESC" if key.descending else "ASC"
        items.append(f"{name} {direction} NULLS {'FIRST' if key.nulls_first else 'LAST'}")
    return f" ORDER BY {', '.join(items)}" if items else ""


def rows_sql(block: RowBlock, dialect: Dialect, table: str) -> str:
    """The whole block; its outputs are called c0, c1, …"""
    render = renderer(dialect)

    def named(exprs: tuple[Expr, ...], prefix: str) -> list[str]:
        return [f"{render.text(e)} AS {prefix}{i}" for i, e in enumerate(exprs)]

    outputs = named(tuple(o.expr for o in block.outputs), "c")
    keys = named(tuple(k.expr for k in block.order), "o")
    inner = f"SELECT {', '.join([*outputs, *keys])} FROM {table}{where_sql(block, dialect)}"
    columns = ", ".join(f"c{i}" for i in range(len(outputs)))
    text = f"SELECT {columns} FROM ({inner}) answer"
    text += order_sql(block.order, [f"o{i}" for i in range(len(keys))])
    text += "" if block.limit is None else f" LIMIT {block.limit}"
    return text + (f" OFFSET {block.offset}" if block.offset else "")
