"""Rows that nobody fetches are given up when too many wait; who fetches loses nothing."""

from __future__ import annotations

import asyncio
import gc
import sys
import weakref

import pytest

from accelerator.gateway.access.login.users import User
from accelerator.gateway.statements.statement import Page, Statement
from accelerator.gateway.statements.unread import Unread
from accelerator.gateway.trino.requests.nodes import ClientSession

_MIB = 1024**2


class _Held:
    """Statements by user, bounds of 8 MiB and 10, and a clock."""

    def __init__(self):
        self.statements, self.now = {}, 1000.0
        self.unread = Unread(self.statements, 8 * _MIB, 10, lambda: self.now)

    def made(self, user, mebibytes, asked=0.0, *, pages=None):
        statement = Statement(
            "SELECT 1", ClientSession(user=user), User(user), user, len(self.statements)
        )
        statement.asked = asked
        self.statements[statement.id] = statement
        if pages is None:
            page = Page(bytes(int(mebibytes * _MIB)), 1, is_last=True)
            statement.end(page, lambda _one: None)
        else:
            statement.begin(pages, lambda _one: None)
        return statement

    def given_up(self, *statements):
        self.unread.bound()
        return [one.is_given_up for one in statements]


def in_loop(work):
    async def run():
        return await work(_Held())

    return asyncio.run(run())


def test_the_oldest_of_a_user_with_more_than_half_is_given_up():
    async def work(held):
        old = held.made("a", 2, asked=1)
        new = held.made("a", 3, asked=2)
        other = held.made("b", 4, asked=0)
        assert held.given_up(old, new, other) == [True, False, False]
        assert held.unread.given_up == 1
        page, _ = await old.page(1, 0.1)
        assert page.is_last and page.data is None and old.error.code == "results_unread"
        page, _ = await new.page(1, 0.1)
        assert len(page.data) == 3 * _MIB and new.error is None
        assert old.held_bytes == 0 and new.held_bytes == 3 * _MIB

    in_loop(work)


def test_of_all_together_the_user_with_most_gives_up():
    async def work(held):
        one = held.made("a", 3, asked=1)
        most = held.made("b", 4, asked=9)
        last = held.made("c", 2, asked=0)
        assert held.given_up(one, most, last) == [False, True, False]

    in_loop(work)


def test_a_client_that_has_just_asked_loses_nothing():
    async def work(held):
        many = [held.made("a", 3, asked=held.now - 0.5) for _ in range(4)]
        reads = held.made("a", 3)
        reads.waiting = 1
        assert not any(held.given_up(*many, reads))
        held.now += 1
        assert held.given_up(*many, reads) == [True, True, True, True, False]

    in_loop(work)


def test_small_answers_are_counted():
    async def work(held):
        many = [held.made("a", 0, asked=number) for number in range(8)]
        assert held.given_up(*many) == [True] * 3 + [False] * 5

    in_loop(work)


@pytest.mark.parametrize("ahead", [False, True])
def test_one_that_runs_is_ended(ahead):
    ended = []

    async def pages():
        try:
            while True:
                yield Page(bytes(3 * _MIB), 1)
        finally:
            ended.append(True)

    async def work(held):
        statement = held.made("a", 0, pages=pages())
        if ahead:
            statement.ahead_bytes = 100 * _MIB
        await asyncio.sleep(0.05)
        assert statement.held_bytes >= 6 * _MIB
        assert held.given_up(statement) == [True]
        await asyncio.sleep(0.05)
        assert ended and statement.error.code == "results_unread"

    in_loop(work)


def test_what_was_read_is_not_held():
    async def work(held):
        statement = held.made("a", 3)
        assert statement.held_bytes == 3 * _MIB
        await statement.page(1, 0.1)
        assert statement.held_bytes == 3 * _MIB, "it may be asked for again"
        statement._pages.put_nowait(Page(b"ab", 1, is_last=True))
        statement._held += 2
        await statement.page(2, 0.1)
        assert statement.held_bytes == 2

    in_loop(work)


@pytest.mark.parametrize("letter", ["x", "😀"])
@pytest.mark.parametrize("prepared", [False, True])
def test_texts_that_wait_are_counted(letter, prepared):
    """An emoji has every character of its text take four bytes."""
    ended = asyncio.Event()

    async def pages():
        await ended.wait()
        yield Page(b"[[1]]", 1, is_last=True)

    async def work(held):
        text = "SELECT 1 -- " + "x" * _MIB + letter
        client = ClientSession(user="a", prepared={"p": text} if prepared else {})
        sql = "EXECUTE p" if prepared else text
        statement = Statement(sql, client, User("a"), "a", 99)
        statement.asked = 1
        statement.begin(pages(), lambda _one: None)
        held.statements[statement.id] = statement
        assert statement.held_bytes >= sys.getsizeof(text) >= len(letter.encode()) * _MIB
        statement.runs = text + " "
        assert statement.held_bytes >= 2 * sys.getsizeof(text)
        rows = held.made("a", 3.9)
        statement.asked = held.now
        assert held.given_up(statement, rows) == [False, True]
        ended.set()
        await asyncio.sleep(0.05)
        assert statement.is_over
        assert statement.held_bytes < 100, "once it's over nobody needs its text"
        assert text not in (statement.sql, statement.runs, *statement.client.prepared.values())

    in_loop(work)


def test_one_whose_text_is_long_is_given_up_before_it_runs():
    async def pages():
        await asyncio.sleep(60)
        yield Page(is_last=True)

    async def work(held):
        def made(asked, size):
            statement = held.made("a", 0, asked=asked, pages=pages())
            statement.sql = statement.runs = "x" * int(size * _MIB)
            return statement

        old, new, short = made(2, 2.5), made(3, 2.5), made(1, 0)
        assert held.given_up(old, new, short) == [True, False, False]
        await asyncio.sleep(0.05)
        assert old.error.code == "results_unread" and old.held_bytes < 100

    in_loop(work)


def test_headers_that_wait_are_counted():
    async def work(held):
        statement = held.made("a", 0)
        statement.headers = [("X-Trino-Added-Prepare", "p=" + "x" * _MIB)]
        assert statement.held_bytes >= _MIB

    in_loop(work)


@pytest.mark.parametrize("raises", [False, True])
def test_nothing_holds_the_text_of_one_that_is_over(raises):
    class Text(str):
        """A text to which a weak reference leads."""

    async def pages(text):
        if raises:
            raise ValueError(text[:1])
        yield Page(b"[[1]]", 1, is_last=True)

    async def work(held):
        text = Text("SELECT 1")
        gone = weakref.ref(text)
        statement = Statement(text, ClientSession(user="a"), User("a"), "a", 1)
        statement.begin(pages(text), lambda _one: None)
        del text
        await asyncio.sleep(0.05)
        gc.collect()
        assert statement.is_over and gone() is None
        page, _ = await statement.page(1, 0.1)
        assert page.is_last

    in_loop(work)
