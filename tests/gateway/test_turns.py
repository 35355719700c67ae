"""Turns at workers: a user with many statements takes no turn from others."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from contextlib import AsyncExitStack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelerator.gateway.admission.admission import QueueTimeoutError
from accelerator.gateway.workers.pool.turns import Turns


class Room:
    """So many places that are alike."""

    def __init__(self, count: int, most_of_one: int) -> None:
        self.count = count
        self.stopping: Counter[str] = Counter()
        self.turns: Turns[str] = Turns(self._free, most_of_one, lambda user: self.stopping[user])

    def _free(self, turns: Turns[str]) -> str | None:
        busy = turns.taken["any"] + self.stopping.total()
        return "any" if busy < self.count else None


async def settled() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def run(work) -> None:
    asyncio.run(work())


class Statements:
    """Statements that run until they are ended, in the order in which they began."""

    def __init__(self, turns: Turns[str]) -> None:
        self._turns = turns
        self.begun: list[str] = []
        self._ends: dict[str, asyncio.Event] = {}
        self.tasks: dict[str, asyncio.Task[None]] = {}

    async def ask(self, user: str, name: str) -> None:
        self._ends[name] = asyncio.Event()
        self.tasks[name] = asyncio.create_task(self._run(user, name))
        await settled()

    async def _run(self, user: str, name: str) -> None:
        async with self._turns.place(user):
            self.begun.append(name)
            await self._ends[name].wait()

    async def end(self, name: str) -> None:
        self._ends[name].set()
        await settled()

    async def cancel(self, name: str) -> None:
        self.tasks[name].cancel()
        await settled()


def test_a_user_gets_the_next_place_however_many_statements_of_another_wait():
    async def work():
        statements = Statements(Room(1, 1).turns)
        for number in range(5):
            await statements.ask("ann", f"a{number}")
        await statements.ask("bob", "b0")
        await statements.ask("bob", "b1")
        for name in ("a0", "b0", "a1", "b1", "a2", "a3", "a4"):
            assert statements.begun[-1] == name
            await statements.end(name)

    run(work)


def test_one_user_leaves_a_place_for_others():
    async def work():
        statements = Statements(Room(4, 3).turns)
        for number in range(4):
            await statements.ask("ann", f"a{number}")
        assert statements.begun == ["a0", "a1", "a2"]
        await statements.ask("bob", "b0")
        assert statements.begun[-1] == "b0"
        await statements.end("a1")
        assert statements.begun[-1] == "a3"

    run(work)


def test_a_statement_that_stops_waiting_takes_nothing_along():
    async def work():
        room = Room(1, 1)
        statements = Statements(room.turns)
        for user, name in (("ann", "a0"), ("bob", "b0"), ("cid", "c0")):
            await statements.ask(user, name)
        await statements.cancel("b0")
        await statements.end("a0")
        assert statements.begun == ["a0", "c0"]
        # A place that is given in the moment in which its statement is cancelled is free again.
        await statements.ask("ann", "a1")
        statements._ends["c0"].set()
        statements.tasks["a1"].cancel()
        await settled()
        await statements.ask("bob", "b1")
        assert statements.begun[-1] == "b1"
        await statements.end("b1")
        assert not room.turns.taken and not room.turns.by_user
        assert not room.turns._waiting and not room.turns._last

    run(work)


def test_what_was_stopped_and_still_runs_counts_for_its_user():
    async def work():
        room = Room(4, 3)
        statements = Statements(room.turns)
        for number in range(6):
            await statements.ask("ann", f"a{number}")
        room.stopping["ann"] = 3  # three were cancelled, and don't end
        for number in range(3):
            await statements.cancel(f"a{number}")
        assert statements.begun == ["a0", "a1", "a2"]
        await statements.ask("bob", "b0")
        assert statements.begun[-1] == "b0"
        room.stopping["ann"] = 1
        room.turns.give()
        await settled()
        assert statements.begun[-2:] == ["a3", "a4"]

    run(work)


def test_a_statement_waits_only_so_long():
    async def work():
        turns = Turns(lambda turns: None if turns.taken["any"] else "any", 1, wait_max_s=0.01)
        async with turns.place("ann"):
            with pytest.raises(QueueTimeoutError, match=r"waited 0\.01 s"):
                async with turns.place("bob"):
                    pass
        assert not turns.taken and not turns._waiting
        async with turns.place("bob"):
            await asyncio.sleep(0.02)  # the work itself has no such limit

    run(work)


def test_a_place_that_comes_later_is_given():
    async def work():
        room = Room(0, 2)
        statements = Statements(room.turns)
        await statements.ask("ann", "a0")
        assert not statements.begun
        room.count = 1
        room.turns.give()
        await settled()
        assert statements.begun == ["a0"]

    run(work)


@pytest.mark.parametrize("fails", [ValueError, asyncio.CancelledError])
def test_a_statement_that_fails_frees_its_place(fails):
    async def work():
        room = Room(1, 1)
        with pytest.raises(fails):
            async with room.turns.place("ann"):
                raise fails
        async with room.turns.place("ann"):
            pass
        assert not room.turns.taken

    run(work)


@given(st.integers(1, 4), st.integers(1, 4), st.integers(0, 10_000))
def test_no_order_of_events_loses_a_place(count, most, seed):
    chance = random.Random(seed)

    async def work():
        room = Room(count, most)
        running: list[AsyncExitStack] = []
        asking: list[asyncio.Task[AsyncExitStack]] = []

        async def enter(user):
            async with AsyncExitStack() as stack:
                await stack.enter_async_context(room.turns.place(user))
                return stack.pop_all()

        for _ in range(40):
            event = chance.random()
            if event < 0.5:
                asking.append(asyncio.create_task(enter(chance.choice("abc"))))
            elif event < 0.75 and running:
                await running.pop(chance.randrange(len(running))).aclose()
            elif asking:
                chance.choice(asking).cancel()
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            for one in [one for one in asking if one.done()]:
                asking.remove(one)
                if not one.cancelled():
                    running.append(one.result())
            assert sum(room.turns.taken.values()) <= count
            assert all(number <= most for number in room.turns.by_user.values())
        for one in asking:
            one.cancel()
        for done in await asyncio.gather(*asking, return_exceptions=True):
            if isinstance(done, AsyncExitStack):
                running.append(done)
        for stack in running:
            await stack.aclose()
        assert not room.turns.taken and not room.turns.by_user and not room.turns._last

    run(work)
