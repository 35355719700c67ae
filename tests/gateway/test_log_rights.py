"""What a query of the query log needs: no right for one's own rows, and nothing else by it."""

from __future__ import annotations

import pytest

import accelerator
from accelerator.common.records.as_dict import as_dict
from accelerator.gateway.access.check import check
from accelerator.gateway.access.errors import AccessDeniedError
from accelerator.gateway.access.grants import UserAccess
from accelerator.gateway.trino.requests import nodes
from accelerator.gateway.workers.run_statement import StatementJob
from accelerator.query.statements.parse import parse_statement
from tests.gateway.support import made_warehouse


@pytest.fixture(scope="module")
def acc(tmp_path_factory):
    with accelerator.open(made_warehouse(tmp_path_factory.mktemp("rights") / "lake")) as session:
        yield session


def _checked(acc, sql, access):
    return check(parse_statement(sql), access, acc.services)


def test_the_query_log_is_nobodys_table(acc):
    """Who may read nothing may read their own of it, and nothing beside it, nor under a view."""
    log = "system.runtime.query_log"
    acc.query("SELECT max(k) FROM lake.shop.sales")  # it's there
    found = _checked(
        acc, f"SELECT * FROM {log} a JOIN {log.upper()} b ON a.id = b.id", UserAccess()
    )
    assert found == {("system", "runtime", "query_log")}
    for sql in (
        f"SELECT * FROM {log}, lake.shop.sales",
        f"SELECT (SELECT max(k) FROM lake.shop.sales) FROM {log}",
        f"SELECT * FROM {log} WHERE id IN (SELECT v FROM lake.shop.sales)",
        f"SELECT * FROM lake.{log}",
        "SELECT * FROM system.runtime.queries",
        f"CREATE CUBE c AS SELECT user, count(*) FROM {log} GROUP BY user",
    ):
        with pytest.raises(AccessDeniedError):
            _checked(acc, sql, UserAccess())


@pytest.mark.parametrize("said", [{}, {"log_of": 7}, {"log_of": ["ann"]}])
def test_a_job_that_does_not_say_whose_rows_it_may_see_is_none(said):
    """Else a gateway of another release would show everybody's."""
    given = {
        "kind": "RunStatement",
        "request": {"sql": "SELECT 1", "placed": True},
        "client": as_dict(nodes.ClientSession(user="ann")) | {"capabilities": []},
        "access": UserAccess().to_json(),
        "timeout_s": 0.0,
        "accelerate": True,
        "facts": {"session": [], "roles": []},
    }
    assert StatementJob.from_dict(given | {"log_of": "ann"}).log_of == "ann"
    with pytest.raises((LookupError, ValueError)):
        StatementJob.from_dict(given | said)
