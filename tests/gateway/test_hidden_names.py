"""Constraints and relate columns over forbidden tables are as ones that don't exist."""

from __future__ import annotations

import pyarrow as pa
import pytest

import accelerator
from accelerator.errors import AcceleratorError
from accelerator.gateway.access.check import check
from accelerator.gateway.access.errors import AccessDeniedError
from accelerator.gateway.access.filter_listings import visible
from accelerator.gateway.access.grants import Grant, UserAccess
from accelerator.query.statements.parse import parse_statement
from tests.support.pristine import Pristine


def _fill(catalog):
    catalog.create_namespace("d")
    rows = pa.table({"k": pa.array([1, 2], pa.int32()), "v": ["x", "y"]})
    for name in ("ok", "secret"):
        catalog.create_table(f"d.{name}", rows.schema).append(rows)


@pytest.fixture
def acc(tmp_path):
    with accelerator.open(Pristine(tmp_path).lake(_fill)) as session:
        yield session


def _access(*, deny=()):
    """May read and change all tables but those, and manage all indexes."""
    grants = [Grant("allow", one, "table", ("lake", "*", "*")) for one in ("read", "change")]
    grants += [Grant("deny", "read", "table", tuple(one.split("."))) for one in deny]
    return UserAccess.of([*grants, Grant("allow", "manage", "index", ("*",))])


SEES, ALL_BUT = _access(), _access(deny=["lake.d.secret"])


def _checked(acc, sql, access=ALL_BUT):
    return check(parse_statement(sql), access, acc.services)


def _refusal(session, sql, name):
    """The type, message and hint of what refuses the statement, without the name."""
    with pytest.raises(AcceleratorError) as raised:
        _checked(session, sql.format(name))
    error = raised.value
    return type(error), *(one.replace(name, "it") for one in (error.message, error.hint))


def test_a_constraint_over_a_forbidden_table_is_as_one_that_is_not_there(acc):
    acc.query(
        "ALTER TABLE lake.d.ok ADD CONSTRAINT marked FOREIGN KEY (k)"
        " REFERENCES lake.d.secret (k) NOT ENFORCED"
    )
    for sql in (
        "ALTER TABLE lake.d.ok VALIDATE CONSTRAINT {}",
        "ALTER TABLE lake.d.ok DROP CONSTRAINT {}",
    ):
        hidden, unknown = (_refusal(acc, sql, name) for name in ("marked", "nope"))
        assert hidden == unknown
        assert "marked" not in str(unknown)
        assert _checked(acc, sql.format("marked"), SEES) >= {("lake", "d", "ok")}
    for name in ("marked", "nope"):
        _checked(acc, f"ALTER TABLE lake.d.ok DROP CONSTRAINT IF EXISTS {name}")


def test_a_relate_column_needs_its_dimensions(acc):
    acc.query("ALTER TABLE d.ok ADD RELATE COLUMN FROM d.secret.v ON d.ok.k = d.secret.k AS name")
    explained = "EXPLAIN ACCELERATE SELECT * FROM lake.d.ok"
    with pytest.raises(AccessDeniedError):
        _checked(acc, explained)
    _checked(acc, explained, SEES)
    for sql in (
        "CREATE INDEX i ON lake.d.ok USING BLOOM ({})",
        "OPTIMIZE lake.d.ok SORT BY (k, {})",
        "ALTER TABLE lake.d.ok DROP RELATE COLUMN {}",
    ):
        hidden, unknown = (_refusal(acc, sql, name) for name in ("NAME", "nope"))
        assert hidden == unknown
        assert _checked(acc, sql.format("name"), SEES) >= {("lake", "d", "secret")}
    dropped = parse_statement("ALTER TABLE lake.d.ok DROP RELATE COLUMN IF EXISTS name")
    check(dropped, ALL_BUT, acc.services)
    answer = pa.table({"relate_column": ["name"]})
    assert visible(dropped, answer, ALL_BUT, acc.services).num_rows == 0
    statement = parse_statement("SHOW RELATE COLUMNS")
    answer = acc.query("SHOW RELATE COLUMNS").arrow()
    assert answer.num_rows == 1
    assert visible(statement, answer, ALL_BUT, acc.services).num_rows == 0
    assert visible(statement, answer, SEES, acc.services) == answer
