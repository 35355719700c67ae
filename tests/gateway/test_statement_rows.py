"""A statement of ours is one row: each row is whole, and a new one reaches each door."""

from __future__ import annotations

import inspect
import sys
from types import ModuleType

import pyarrow as pa
import pytest
from msgspec.structs import replace
from prompt_toolkit.document import Document

import accelerator
from accelerator.cli.shell.completion import CompletionNames, Words
from accelerator.errors import StatementError, UnknownTableError
from accelerator.gateway.access import check as rights
from accelerator.gateway.access import filter_listings
from accelerator.gateway.access.errors import AccessDeniedError
from accelerator.gateway.access.grants import Grant, UserAccess
from accelerator.gateway.http.api.routes import ROUTES
from accelerator.gateway.trino.requests.nodes import ClientSession
from accelerator.gateway.trino.requests.parse import request
from accelerator.gateway.workers.api import models
from accelerator.query.early_errors.check import check as check_early
from accelerator.query.early_errors.lake_tables import LakeTables
from accelerator.query.statements import catalog, nodes
from accelerator.query.statements.catalog import ApiList, Form
from accelerator.query.statements.parse import parse_statement
from tests.support.pristine import Pristine

OWN = {nodes.ExplainAccelerate, nodes.ExplainAnalyze, nodes.ExplainWhyNot, nodes.Verify}
"""Those that the session runs itself."""


@pytest.mark.parametrize("form", catalog.FORMS, ids=lambda form: form.words)
def test_a_row_is_whole(form):
    assert callable(form.parser)
    if form.kind not in OWN:
        assert list(inspect.signature(form.handler).parameters)[:2] == ["statement", "services"]
    needs = getattr(rights._Asking, form.rights or form.name)
    assert len(inspect.signature(needs).parameters) == 2
    assert not form.lists or callable(getattr(filter_listings._VisibleTables, form.lists))
    assert len(form.schema) == form.columns.count(",") + 1
    if form.api is not None:
        assert not form.api.key or form.api.key in form.schema.names
        _, _, model, _ = models.LISTS[f"list_{form.api.name}"]
        assert f"list_{form.api.name}" in {route.name for route in ROUTES}
        (item,) = model.model_fields["items"].annotation.__args__
        assert list(item.model_fields) == form.schema.names


class CountFiles(nodes.OfTable):
    """COUNT FILES ON: a statement that there isn't."""


ROW = Form(
    "COUNT FILES",
    CountFiles,
    "cube string, files bigint",
    "COUNT FILES ON orders",
    run="counting_of_files:rows",
    rights="change",
    lists="cube",
    api=ApiList("counted", "Counts", "counts", "Count", "A count", key="cube"),
)


def _fill(lake):
    rows = pa.table({"k": pa.array([1, 2, 2], pa.int32()), "v": ["x", "y", None]})
    lake.create_namespace("d")
    for name in ("ok", "secret"):
        lake.create_table(f"d.{name}", rows.schema).append(rows)


@pytest.fixture(scope="module")
def acc(tmp_path_factory):
    with accelerator.open(Pristine(tmp_path_factory.mktemp("lakes")).lake(_fill)) as session:
        for name in ("ok", "secret"):
            session.query(
                f"CREATE CUBE {name} DEFERRED AS SELECT v, count(*) AS n FROM lake.d.{name}"
                " GROUP BY v"
            )
        yield session


@pytest.fixture
def row(monkeypatch):
    module = ModuleType("counting_of_files")
    module.rows = lambda statement, services: [
        {"cube": name, "files": len(statement.table)} for name in ("ok", "secret")
    ]
    monkeypatch.setitem(sys.modules, "accelerator.counting_of_files", module)
    begun = {word: list(forms) for word, forms in catalog.BEGINNINGS.items()}
    catalog.add(ROW)
    yield ROW
    del catalog.FORM_OF[CountFiles], catalog.EXAMPLES["COUNT FILES"]
    catalog.BEGINNINGS.clear()
    catalog.BEGINNINGS.update(begun)


def _access(*grants):
    read = Grant("allow", "read", "table", ("lake", "d", "ok"))
    return UserAccess.of([read, *grants])


SQL = "COUNT FILES ON lake.d.ok"


def test_without_the_row_it_is_not_ours():
    assert isinstance(parse_statement(SQL), nodes.Other)


def test_a_new_row_is_parsed_run_and_has_columns(acc, row):
    assert parse_statement(f"-- why\n {SQL};") == CountFiles(("lake", "d", "ok"))
    with pytest.raises(StatementError, match="expected ON") as caught:
        parse_statement("COUNT FILES lake.d.ok")
    assert row.example in caught.value.hint
    answer = acc.query(SQL).arrow()
    assert answer.schema == row.schema
    assert answer.to_pylist() == [{"cube": "ok", "files": 3}, {"cube": "secret", "files": 3}]


def test_a_new_row_is_known_to_early_errors_and_to_completion(acc, row):
    tables = LakeTables(acc.services.lake, "lake")
    with pytest.raises(UnknownTableError, match=r"d\.nope"):
        check_early(parse_statement("COUNT FILES ON lake.d.nope"), tables)
    with pytest.raises(StatementError) as caught:
        check_early(nodes.Other("COUNTT FILES ON t"), tables)
    assert "COUNT" in caught.value.suggestions
    words = Words(CompletionNames(lambda: acc), ())
    found = {one.text for one in words.get_completions(Document("FILE"), None)}
    assert row.words.split()[1] in found


@pytest.mark.usefixtures("row")
def test_a_new_row_needs_its_rights_and_hides_what_its_reader_may_not_see(acc):
    statement, services = parse_statement(SQL), acc.services
    with pytest.raises(AccessDeniedError):
        rights.check(statement, _access(), services)
    may = _access(Grant("allow", "change", "table", ("lake", "d", "ok")))
    assert rights.check(statement, may, services) == {("lake", "d", "ok")}
    shown = filter_listings.visible(statement, acc.query(SQL).arrow(), may, services)
    assert shown.column("cube").to_pylist() == ["ok"]


@pytest.mark.usefixtures("row")
def test_a_new_row_is_known_to_trinos_clients():
    with pytest.raises(StatementError) as caught:
        request("COUNTT FILES ON t", ClientSession(user="u"))
    assert "COUNT" in caught.value.suggestions


def test_a_new_row_has_a_model_for_the_api(row):
    model = models.list_model(row, row.api)
    assert model(items=[{"cube": "c", "files": 1}]).items[0].files == 1
    assert list(model.model_json_schema()["$defs"]) == ["Count"]


def test_a_row_whose_rights_nobody_knows_is_refused(acc, row):
    catalog.FORM_OF[CountFiles] = replace(row, rights="everything")
    with pytest.raises(AttributeError):
        rights.check(parse_statement(SQL), _access(), acc.services)
