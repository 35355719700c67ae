"""Admission: who runs, who waits and in which order; and that nothing is ever lost."""

from __future__ import annotations

import asyncio
import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accelerator.gateway.admission.admission import (
    Admission,
    Limit,
    QueueFullError,
    QueueTimeoutError,
    RateLimitedError,
    Who,
)


class Clock:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


async def _settled():
    for _ in range(20):
        await asyncio.sleep(0)


class Asking:
    """Statements as tasks: each runs until it's let go."""

    def __init__(self, admission):
        self.admission = admission
        self.order, self.slots, self.tasks, self.ends = [], {}, {}, {}

    def ask(self, name, who, **more):
        self.ends[name] = asyncio.Event()
        self.tasks[name] = asyncio.ensure_future(self._run(name, who, more))

    async def _run(self, name, who, more):
        told = lambda slot: self.slots.__setitem__(name, slot)  # noqa: E731
        async with self.admission.slot(who, told=told, **more) as slot:
            self.order.append(name)
            self.slots[name] = slot
            await self.ends[name].wait()

    async def end(self, *names):
        for name in names:
            self.ends[name].set()
        await _settled()


def _run(scenario):
    asyncio.run(scenario())


A, B = Who("a", groups=frozenset({"g"}), source="bi"), Who("b", groups=frozenset({"g"}))


def test_what_has_no_room_waits_and_runs_in_turn():
    async def scenario():
        asking = Asking(Admission([Limit(name="total", concurrent=1)]))
        for number in range(3):
            asking.ask(number, A)
        await _settled()
        assert asking.order == [0]
        assert [asking.slots[n].position for n in (0, 1, 2)] == [0, 1, 2]
        assert asking.admission.load.queued_by_user == {"a": 2}
        await asking.end(0, 1, 2)
        assert asking.order == [0, 1, 2]
        assert asking.admission.load.running == asking.admission.load.queued == 0

    _run(scenario)


def test_who_runs_less_goes_first_and_a_priority_before_that():
    async def scenario():
        limits = [
            Limit(name="urgent", tags=("now",), priority=1),
            Limit(name="total", concurrent=2),
        ]
        asking = Asking(Admission(limits))
        asking.ask("a1", A)
        asking.ask("a2", A)
        asking.ask("a3", A)
        asking.ask("b1", B)
        asking.ask("a4", Who("a", tags=frozenset({"now"})))
        await _settled()
        assert asking.order == ["a1", "a2"]
        await asking.end("a1")
        assert asking.order[2:] == ["a4"]
        await asking.end("a2")
        assert asking.order[3:] == ["b1"]
        await asking.end("a4", "b1", "a3")
        assert asking.order[4:] == ["a3"]

    _run(scenario)


@pytest.mark.parametrize(
    ("limit", "second", "third"),
    [
        (Limit(name="x", per="user", concurrent=1), A, B),
        (Limit(name="x", per="source", concurrent=1), A, B),
        (Limit(name="x", users=("a",), concurrent=1), A, B),
        (Limit(name="x", per="group", concurrent=1), B, Who("c")),
        (Limit(name="x", sources=("b*",), concurrent=1), A, B),
        (Limit(name="x", groups=("g",), concurrent=1), B, Who("c")),
    ],
)
def test_a_limit_counts_what_it_is_of(limit, second, third):
    async def scenario():
        asking = Asking(Admission([limit]))
        asking.ask(1, A)
        asking.ask(2, second)
        asking.ask(3, third)
        await _settled()
        assert asking.order == [1, 3]  # one that can't run is in nobody's way
        await asking.end(1, 2, 3)
        assert asking.order == [1, 3, 2]

    _run(scenario)


def test_memory_is_booked_and_a_large_one_has_its_turn():
    async def scenario():
        asking = Asking(Admission([Limit(name="memory", memory_bytes=10)]))
        asking.ask("small", A, memory=6)
        asking.ask("large", B, memory=8)
        asking.ask("late", Who("c"), memory=1)
        await _settled()
        assert asking.order == ["small"]
        await asking.end("small")
        assert asking.order == ["small", "large", "late"]
        await asking.end("large", "late")
        asking.ask("huge", A, memory=1000)
        await _settled()
        assert asking.order[-1] == "huge"
        await asking.end("huge")

    _run(scenario)


def test_a_full_queue_turns_away():
    async def scenario():
        limits = [Limit(name="each user", per="user", concurrent=1, queued=1)]
        asking = Asking(Admission(limits))
        asking.ask(1, A)
        asking.ask(2, A)
        await _settled()
        with pytest.raises(QueueFullError, match="each user"):
            async with asking.admission.slot(A):
                pass
        assert asking.admission.load.turned_away == {"queue_full": 1}
        async with asking.admission.slot(B):
            pass
        await asking.end(1, 2)
        assert asking.order == [1, 2]

    _run(scenario)


def test_a_queue_of_none_still_runs_what_has_room():
    async def scenario():
        admission = Admission([Limit(name="total", concurrent=1, queued=0)])
        async with admission.slot(A):
            with pytest.raises(QueueFullError):
                async with admission.slot(A):
                    pass
        async with admission.slot(A):
            pass

    _run(scenario)


def test_waiting_ends():
    async def scenario():
        admission = Admission([Limit(name="total", concurrent=1)])
        async with admission.slot(A):
            with pytest.raises(QueueTimeoutError, match=r"0\.001 s"):
                async with admission.slot(B, wait_max_s=0.001):
                    pass
            assert admission.load.queued == 0
        async with admission.slot(B):
            pass

    _run(scenario)


def test_a_rate_fills_up_with_time():
    async def scenario():
        clock = Clock()
        admission = Admission([Limit(name="each", per="user", per_minute=2)], clock=clock)

        async def once(who):
            async with admission.slot(who):
                pass

        await once(A)
        await once(A)
        with pytest.raises(RateLimitedError) as raised:
            await once(A)
        assert raised.value.retry_after_s == pytest.approx(30)
        await once(B)
        clock.now += 30
        await once(A)
        with pytest.raises(RateLimitedError):
            await once(A)

    _run(scenario)


def test_what_one_rate_refuses_takes_nothing_of_another():
    async def scenario():
        clock = Clock()
        limits = [Limit(name="all", per_minute=3), Limit(name="each", per="user", per_minute=1)]
        admission = Admission(limits, clock=clock)
        turned_away = 0
        for who in (A, A, A, A, B, Who("c")):
            try:
                async with admission.slot(who):
                    pass
            except RateLimitedError:
                turned_away += 1
        assert turned_away == 3

    _run(scenario)


def test_made_up_sources_take_no_memory(monkeypatch):
    monkeypatch.setattr("accelerator.gateway.admission.admission._KEPT_MAX", 10)

    async def scenario():
        clock = Clock()
        admission = Admission([Limit(name="each", per="source", per_minute=1)], clock=clock)
        with pytest.raises(RateLimitedError):
            for number in range(100):
                async with admission.slot(Who("a", source=str(number))):
                    pass
        clock.now += 60
        async with admission.slot(Who("a", source="other")):
            pass
        assert len(admission._buckets) <= 10

    _run(scenario)


def test_other_limits_hold_from_then_on():
    async def scenario():
        admission = Admission([Limit(name="total", concurrent=1)])
        asking = Asking(admission)
        asking.ask(1, A)
        await _settled()
        admission.reload([Limit(name="total", concurrent=2)])
        asking.ask(2, A)
        asking.ask(3, A)
        asking.ask(4, A)
        await _settled()
        assert asking.order == [1, 2, 3]
        await asking.end(1, 2, 3, 4)
        assert asking.order == [1, 2, 3, 4]
        assert admission.load.running == 0

    _run(scenario)


STEPS = st.lists(
    st.tuples(st.sampled_from(["ask", "end", "cancel", "tick"]), st.integers(0, 9)), max_size=60
)


@settings(max_examples=150, deadline=None)
@given(steps=STEPS, seed=st.integers(0, 2**32))
def test_whoever_goes_away_when_no_slot_is_lost(steps, seed):
    chance = random.Random(seed)
    limits = [
        Limit(name="total", concurrent=3, queued=6, memory_bytes=20),
        Limit(name="user", per="user", concurrent=2, queued=3),
        Limit(name="source", per="source", concurrent=2),
    ]

    async def scenario():
        admission = Admission(limits, wait_max_s=1000)
        running, ends, tasks = Counter(), [], []

        async def one(who, memory, end):
            async with admission.slot(who, memory=memory):
                running[who.user] += 1
                try:
                    await end.wait()
                    if chance.random() < 0.2:
                        raise ValueError("the statement fails")
                finally:
                    running[who.user] -= 1

        for step, number in steps:
            if step == "ask":
                end = asyncio.Event()
                who = Who("abc"[number % 3], source="xy"[number % 2])
                ends.append(end)
                tasks.append(asyncio.ensure_future(one(who, number * 3, end)))
            elif step == "end" and ends:
                ends[number % len(ends)].set()
            elif step == "cancel" and tasks:
                tasks[number % len(tasks)].cancel()
            for _ in range(chance.randrange(4) if step != "tick" else 10):
                await asyncio.sleep(0)
            assert running.total() <= 3
            assert max(running.values(), default=0) <= 2
            load = admission.load
            assert load.running <= 3
            assert load.queued <= 6 + sum(not t.done() for t in tasks)
            alone = load.running == 1
            assert load.memory_bytes <= 20 or alone
        for end in ends:
            end.set()
        await asyncio.gather(*tasks, return_exceptions=True)
        load = admission.load
        assert (load.running, load.queued, load.memory_bytes) == (0, 0, 0)
        assert not load.running_by_user
        for bucket in admission._buckets.values():
            assert (bucket.running, bucket.queued, bucket.memory) == (0, 0, 0)
        for who in (Who("a", source="x"), Who("b", source="y")):
            async with admission.slot(who):
                pass

    asyncio.run(scenario())
