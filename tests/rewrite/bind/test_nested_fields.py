"""Fields of structs: which names they have, and what is left to Spark."""

from __future__ import annotations

import pytest

from rewrite.bind.select import bind_block
from rewrite.bind.table_rows import bind_rows
from rewrite.facts import At, ColumnFacts, TableFacts
from rewrite.ir.block import Block
from rewrite.ir.expr import Aggregate, Column
from rewrite.parse.parse import parse
from rewrite.reason import DeclinedError
from rewrite.render.expressions import Renderer, column_sql

_AGENT = (
    ColumnFacts(5, "Name", "string", False),
    ColumnFacts(6, "version", "int", False),
    ColumnFacts(7, "a", "int", False),
    ColumnFacts(8, "A", "int", False),
)
_CLIENT = (
    ColumnFacts(3, "ip", "string", False),
    ColumnFacts(4, "agent", "struct<Name:string,version:int,a:int,A:int>", False, fields=_AGENT),
    ColumnFacts(9, "needed", "int", True),
    ColumnFacts(10, "odd.name", "int", False),
    ColumnFacts(11, "tags", "array<string>", False),
)
_COLUMNS = (
    ColumnFacts(1, "id", "int", False),
    ColumnFacts(2, "client", "struct<…>", False, fields=_CLIENT),
    ColumnFacts(12, "geo", "struct<x:int>", False, fields=(ColumnFacts(13, "x", "int", False),)),
    ColumnFacts(14, "geo.x", "int", False),
)


class _Lake:
    def table(self, parts: tuple[str, ...], at: At) -> TableFacts | None:
        del at
        known = parts[-1] in ("r", "client")
        return TableFacts(f"lake.d.{parts[-1]}", parts[-1], 1, 0, _COLUMNS) if known else None

    def read_ahead(self, names: object) -> None:
        del names

    def unique(self, *_: object) -> bool:
        return False


def _block(sql: str) -> Block:
    return bind_block(parse(sql), _Lake(), "UTC")


def _code(sql: str) -> str:
    with pytest.raises(DeclinedError) as caught:
        _block(sql)
    return caught.value.declined.code


NAME = Column(0, 5, "client.agent.Name", "string", ("client", "agent", "Name"))


@pytest.mark.parametrize(
    "written",
    [
        *("client.agent.name", "CLIENT.Agent.NAME", "client.`agent`.`Name`", "r.client.agent.name"),
        *("d.r.client.agent.name", "lake.d.r.client.agent.name"),
    ],
)
def test_a_field_is_a_column_of_its_own_id(written: str) -> None:
    bound = _block(f"SELECT {written} AS n, count(*) FROM lake.d.r GROUP BY client.agent.name")
    (key,) = bound.keys
    assert key == bound.outputs[0].expr == NAME
    assert isinstance(key, Column)
    assert (key.name, key.type, key.path) == (NAME.name, NAME.type, NAME.path)
    assert column_sql(key, "spark") == "`client`.`agent`.`Name`"
    assert column_sql(key, "duckdb") == '"client.agent.Name"'


def test_a_table_called_as_its_column() -> None:
    for written in ("client.ip", "client.client.ip", "d.client.client.ip"):
        bound = _block(f"SELECT max({written}) AS m FROM lake.d.client")
        assert bound.outputs[0].expr == Aggregate(
            "max", (Column(0, 3, "client.ip", "string"),), False, None, "string"
        )


def test_outputs_are_called_as_spark_calls_them() -> None:
    sql = (
        "SELECT r.client.agent.NAME, lake.d.r.client.agent.Version, max(r.client.IP),"
        " client.agent.version + 1, count(client) FROM lake.d.r GROUP BY ALL"
    )
    assert [output.name for output in _block(sql).outputs] == [
        *("NAME", "Version", "max(client.IP)", "(client.agent.version + 1)", "count(client)")
    ]


def test_a_struct_itself_is_only_asked_for_null() -> None:
    bound = _block("SELECT count(client) AS n FROM r WHERE client.agent IS NULL")
    render = Renderer("duckdb", lambda column: column_sql(column, "duckdb"))
    assert [render.text(one) for one in bound.conjuncts] == ['("client.agent" IS NULL)']
    assert render.presence(bound.aggregates[0].args[0]) == '"client"'
    for struct in (bound.aggregates[0].args[0], _block("SELECT max(client) FROM r").results[0]):
        with pytest.raises(DeclinedError):
            render.text(struct)


def test_order_by_outputs_and_fields() -> None:
    order = bind_rows(parse("SELECT client.ip, id FROM r ORDER BY ip, client.ip"), _Lake(), "UTC")
    assert [key.expr for key in order.order] == [Column(0, 3, "", None)] * 2
    assert _block("SELECT DISTINCT client.ip FROM r ORDER BY ip").order


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("SELECT client.nothing, count(*) FROM r GROUP BY ALL", "expression_unsupported"),
        ("SELECT client.ip.x, count(*) FROM r GROUP BY ALL", "expression_unsupported"),
        ("SELECT client.agent.a, count(*) FROM r GROUP BY ALL", "expression_unsupported"),
        ("SELECT client.`odd.name`, count(*) FROM r GROUP BY ALL", "expression_unsupported"),
        ("SELECT client.tags.x, count(*) FROM r GROUP BY ALL", "expression_unsupported"),
        # Iceberg takes `needed IS NULL` for FALSE, though a NULL struct's field is NULL.
        ("SELECT count(*) FROM r WHERE client.needed IS NULL", "expression_unsupported"),
        ("SELECT geo.x, count(*) FROM r GROUP BY ALL", "name_ambiguous"),
        ("SELECT (client).ip, count(*) FROM r GROUP BY ALL", "expression_unsupported"),
        ("SELECT client['ip'], count(*) FROM r GROUP BY ALL", "expression_unsupported"),
        ("SELECT nothing.ip, count(*) FROM r GROUP BY ALL", "column_unknown"),
        ("SELECT client.ip, count(*) FROM r a, r b GROUP BY ALL", "name_ambiguous"),
        ("SELECT DISTINCT client.ip FROM r ORDER BY client.ip", "block_unsupported"),
        ("SELECT count(*) AS client FROM r ORDER BY max(client.ip)", "name_ambiguous"),
        ("SELECT max(id) AS r FROM r ORDER BY max(r.id)", "name_ambiguous"),
    ],
)
def test_what_is_left_to_spark(sql: str, code: str) -> None:
    assert _code(sql) == code
