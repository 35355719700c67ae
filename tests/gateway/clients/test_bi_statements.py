"""Statements of BI tools over the Star Schema Benchmark: which are answered, and which refused."""

from __future__ import annotations

import datetime as dt
import tomllib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import trino

import accelerator
from accelerator.common.config.config import Config
from accelerator.errors import AcceleratorError
from accelerator.gateway import serving
from accelerator.gateway.access.grants import UserAccess
from accelerator.gateway.catalog import GatewayFacts, Metadata
from accelerator.gateway.monitoring.kill import StatementNotFoundError
from accelerator.gateway.trino import errors
from accelerator.gateway.trino.errors import failure
from accelerator.gateway.trino.requests import nodes
from accelerator.gateway.trino.requests.parse import request
from accelerator.session.session import Accelerator
from rewrite.client import ClientContext
from tests.gateway.clients.ssb_lake import filled

_FILE = Path(__file__).with_name("bi_statements.toml")
STATEMENTS: list[dict[str, Any]] = tomllib.loads(_FILE.read_text())["statement"]
_ASKS = nodes.ClientSession(
    user="ann", catalog="lake", schema="ssb", capabilities=frozenset(("PARAMETRIC_DATETIME",))
)


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its folder."""
    return filled(tmp_path_factory.mktemp("ssb") / "lake")


@pytest.fixture(scope="module")
def session(warehouse: Path) -> Iterator[Accelerator]:
    """One that starts no Spark, since nothing is run."""
    with accelerator.open(warehouse) as found:
        yield found


def test_there_are_many() -> None:
    """Of each tool some, and of each statement one."""
    assert len(STATEMENTS) >= 200
    assert {one["tool"] for one in STATEMENTS} == {
        *("dbeaver", "dbt-trino", "metabase", "superset", "trino-cli", "trino-jdbc"),
    }
    assert len({(one["tool"], one["sql"]) for one in STATEMENTS}) == len(STATEMENTS)
    told = [one for one in STATEMENTS if not one["answered"] or "error" in one]
    assert all(one["why"] for one in told)


@pytest.mark.parametrize("tool", sorted({one["tool"] for one in STATEMENTS}))
def test_what_is_understood(session: Accelerator, tool: str) -> None:
    """Each is translated, or told from metadata, but those that are known to be refused."""
    metadata = Metadata(session.services.lake, version="476")
    client = ClientContext(
        catalog="lake",
        schema="ssb",
        user="ann",
        time_zone="UTC",
        version="476",
        now=dt.datetime(2026, 11, 27, 12, tzinfo=dt.UTC),
    )
    wrong = []
    for one in STATEMENTS:
        if one["tool"] != tool:
            continue
        try:
            _understood(session, metadata, client, one["sql"])
            told = ""
        except AcceleratorError as error:
            told = failure(errors.trino_error(error))["errorName"]
        if not _is_as_expected(one, told):
            wrong.append((one["sql"], told))
    assert not wrong


def _is_as_expected(one: dict[str, Any], error: str) -> bool:
    """Whether the error, or its absence, is Trino's own answer, or the refusal that is known."""
    return error == one.get("error", "") if one["answered"] else bool(error)


def _understood(session: Accelerator, metadata: Metadata, client: ClientContext, sql: str) -> None:
    asked = request(sql, _ASKS)
    if isinstance(asked, nodes.Refused):
        raise AcceleratorError(asked.what)
    if isinstance(asked, nodes.KillQuery):  # none runs here
        raise StatementNotFoundError(asked.id)
    if isinstance(asked, nodes.Explain):
        asked = nodes.RunStatement(asked.sql)
    sees = UserAccess.all().sees
    if isinstance(asked, nodes.RunStatement):
        if metadata.answer(asked, _ASKS, sees, GatewayFacts(), _anybody) is None:
            session.queries.read(asked.sql, "trino", client)
    elif not isinstance(asked, nodes.OfSession):
        assert metadata.answer(asked, _ASKS, sees, GatewayFacts(), _anybody) is not None


def _anybody(full: tuple[str, str, str]) -> None:
    """Where there is no policy."""


@pytest.mark.spark
@pytest.mark.slow
def test_what_is_answered(warehouse: Path) -> None:
    """A gateway gives rows for those that are answered, and Trino's errors for the others."""
    wrong = []
    config = Config.load(None, warehouse=str(warehouse))
    with serving.start(config, workers=1) as gateway:
        for one in STATEMENTS:
            with closing(
                trino.dbapi.connect(
                    host=gateway.url,
                    user="ann",
                    source=one["tool"],
                    catalog="lake",
                    schema="ssb",
                    timezone="Europe/Berlin",
                )
            ) as connection:
                cursor = connection.cursor()
                try:
                    cursor.execute(one["sql"])
                    cursor.fetchall()
                    told = ""
                except trino.exceptions.TrinoQueryError as error:
                    told = error.error_name or "?"
            if not _is_as_expected(one, told):
                wrong.append((one["sql"], told))
    assert not wrong
