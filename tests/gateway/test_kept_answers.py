"""Which answers are kept, and that one that has moved is made anew while the old one is read."""

from __future__ import annotations

import asyncio

import pytest
from msgspec import convert

from accelerator.common.config.config import Config
from accelerator.gateway.access.grants import UserAccess
from accelerator.gateway.access.login.users import User
from accelerator.gateway.settings import GatewaySettings
from accelerator.gateway.statements.answers import LONG, Answering
from accelerator.gateway.statements.statement import Statement
from accelerator.gateway.trino.lasting_text import read_text
from accelerator.gateway.trino.requests import nodes
from accelerator.gateway.trino.requests.nodes import ClientSession, RunStatement
from accelerator.gateway.trino.session_properties import Wishes
from accelerator.gateway.workers import view_stability
from accelerator.gateway.workers.messages import bytes_of
from accelerator.gateway.workers.pool.pool import Frame
from accelerator.gateway.workers.view_stability import is_lasting
from tests.gateway.support import catalog_of, made_warehouse, sales


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory):
    return made_warehouse(tmp_path_factory.mktemp("kept") / "warehouse")


class Worker:
    """Answers as a worker does, in so many frames, under the versions that count then."""

    def __init__(self, frames, versions):
        self.frames, self.versions, self.runs = frames, versions, 0

    async def run(self, _job, *, again, taken, is_long):
        self.runs += 1
        versions = await self.versions()
        for number in range(self.frames):
            header = {"rows": 5}
            if number == self.frames - 1:
                header |= {"metrics": {}, "versions": [[list(n), v] for n, v in versions.items()]}
            yield Frame("rows", header, bytes(bytes_of(sales(5))))


def test_an_answer_that_moved_while_it_is_read_is_made_anew_for_the_next(warehouse):
    name = ("lake", "shop", "sales")

    async def run():
        answering = Answering(Config.load(None, warehouse=str(warehouse)), GatewaySettings(), None)
        worker = answering._pool = Worker(6, lambda: answering._versions([name]))
        asked = RunStatement("SELECT id FROM sales")

        async def frames():
            client = ClientSession(user="me", catalog="lake", schema="shop")
            statement = Statement(asked.sql, client, User("me"), "me", 0)
            key = await answering.key(statement, asked, Wishes(), UserAccess.all())
            return answering.frames(statement, asked, key, dict)

        slow = await frames()
        await anext(slow)  # its client reads one frame; meanwhile all are fetched and kept
        while not len(answering.cache):
            await asyncio.sleep(0)
        catalog_of(warehouse).load_table("shop.sales").append(sales(1))
        async with asyncio.timeout(20):
            assert len([one async for one in await frames()]) == 6
            assert worker.runs == 2
            assert len([one async for one in await frames()]) == 6
            assert worker.runs == 2, "the new one is kept"
        assert len([one async for one in slow]) == 5
        assert not answering._flights
        answering.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    "call",
    ['"current_user"()', '"now"()', '"Now"()', "current_user", "CURRENT_DATE", '"random"()'],
)
@pytest.mark.parametrize("filling", [0, LONG])
def test_what_depends_on_more_than_tables_has_no_key(call, filling):
    class Reader:
        async def run(self, job, *, again, is_long):
            assert again and is_long
            given = convert(job["client"], nodes.ClientSession)
            read, words = read_text(job["text"], given)
            yield Frame("rows", {"metrics": {}, "read": read, "words": words})

    async def run(words):
        answering = Answering(Config(), GatewaySettings(), Reader())
        sql = f"SELECT {words}, count(*){' ' * filling} FROM sales"
        client = ClientSession(user="me", catalog="lake", schema="shop")
        statement = Statement(sql, client, User("me"), "me", 0)
        if filling:
            assert await answering.read(statement, "me") == RunStatement(sql)
        return await answering.key(statement, RunStatement(sql), Wishes(), UserAccess.all())

    assert asyncio.run(run(call)) is None
    assert asyncio.run(run("'current_user'")) is not None


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT max(a) AS m FROM t WHERE at < current_timestamp()",
        "SELECT a FROM t WHERE owner = current_user",
        "SELECT a FROM t WHERE owner = session_user()",
        "SELECT user AS u FROM t",
        "SELECT a FROM (SELECT a, rand() AS r FROM t) WHERE r < 0.5",
        "SELECT a FROM t WHERE at < TIMESTAMP 'now'",
        "SELECT a FROM t WHERE d = DATE ' Today UTC'",
        "SELECT `current_user`() AS u FROM t",
        "SELECT a FROM t TABLESAMPLE (10 PERCENT)",
        "SELECT a FROM (",
    ],
)
def test_a_view_that_asks_for_the_moment_or_the_user_is_not_lasting(sql):
    assert not is_lasting(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a, lower(b) AS b, count(*) AS n FROM t JOIN u USING (k) GROUP BY a, lower(b)",
        "SELECT date_trunc('month', d) AS m, sum(x) + 1 AS s FROM t WHERE a > 3 GROUP BY 1",
    ],
)
def test_a_view_of_its_tables_alone_is_lasting(sql):
    assert is_lasting(sql)


@pytest.mark.parametrize(
    ("sql", "asks"),
    [
        ("SELECT a FROM t WHERE owner = current_user()", True),
        ("SELECT a FROM t WHERE owner = current_user", True),
        ("SELECT user() FROM t", True),
        ("SELECT session_user() FROM t", True),
        ("SELECT (((", True),
        ("SELECT t.user FROM t", False),
        ("SELECT 'current_user()' FROM t", False),
    ],
)
def test_views_that_ask_who_asks_are_known(sql, asks):
    """To Spark it's who runs the worker: such views are refused."""
    assert view_stability._asks_who(sql) is asks
