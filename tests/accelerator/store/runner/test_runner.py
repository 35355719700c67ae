"""The runner: what begins when, what a failure does, how it ends."""

from __future__ import annotations

import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelerator.errors import BuildError, CancelledError, SparkElsewhereError, StoreError
from accelerator.services.runner import DueTasks, Outcome, Runner
from accelerator.store.journals.claims import Claims
from accelerator.store.journals.run import AHEAD_MS, FinishedRun, TaskRuns, runs_of, until_s
from tests.accelerator.store.runner.claim_world import Memory


class Job:
    """A task that does what it's given."""

    def __init__(self, key, work=Outcome, *, priority=0, since=0.0, group="", due=True):
        self.key, self.priority, self.since = key, priority, since
        self.group, self.state, self._work, self._due = group or key, "s", work, due
        self.outcomes = []

    def is_due(self, last, deaths):
        self.asked = last, deaths
        return self._due

    def run(self, report, stop):
        return self._work() if self._work is Outcome else self._work(report, stop)

    def ended(self, outcome):
        self.outcomes.append(outcome)


class Jobs:
    """A service of jobs, each of which is due once."""

    def __init__(self, *jobs, at_once=9):
        self.jobs, self.at_once = jobs, at_once

    def due(self):
        left = [one for one in self.jobs if not one.outcomes]
        return DueTasks(left, is_over=not left)


def ran(*services, claims=None, threads=4, stop=None, abort=lambda: None):
    Runner(services, claims, threads=threads).run(stop or threading.Event(), abort)


def test_the_most_urgent_first():
    order = []

    def noting(name):
        return lambda _report, _stop: order.append(name) or Outcome()

    jobs = [
        Job("d", noting("d"), priority=1, since=0),
        Job("c", noting("c"), since=3),
        Job("a", noting("a"), since=1),
        Job("b", noting("b"), since=2),
    ]
    ran(Jobs(*jobs), threads=1)
    assert order == ["a", "b", "c", "d"]


@pytest.mark.parametrize("how", ["group", "at_once", "threads"])
def test_what_may_not_run_at_once_does_not(how):
    running, most = [], []

    def work(_report, _stop):
        running.append(1)
        most.append(len(running))
        for _ in range(100):
            time.monotonic()
        running.pop()
        return Outcome()

    jobs = [Job(f"j{n}", work, group="g" if how == "group" else "") for n in range(20)]
    service = Jobs(*jobs, at_once=1 if how == "at_once" else 9)
    ran(service, threads=1 if how == "threads" else 4)
    assert len(most) == 20 and max(most) == 1


def test_several_do_run_at_once():
    met = threading.Barrier(3, timeout=30)

    def work(_report, _stop):
        met.wait()
        return Outcome()

    jobs = [Job(f"j{n}", work) for n in range(3)]
    ran(Jobs(*jobs))
    assert all(one.outcomes[0].error is None for one in jobs)


def test_a_failure_stops_no_other_and_is_kept():
    claims = Claims(Memory())

    def fail(_report, _stop):
        raise BuildError("no\n" + "x" * 5000)

    for failures in (1, 2, 3):
        bad, good = Job("bad", fail), Job("good")
        ran(Jobs(bad, good), claims=claims)
        assert isinstance(bad.outcomes[0].error, BuildError) and good.outcomes[0].error is None
        last = runs_of(claims, "bad").last
        assert last.failures == failures and last.code == "build_failed"
        assert last.error.startswith("no\n") and len(last.error) <= 2000
    assert runs_of(claims, "good").last.failures == 0
    assert bad.asked[0].failures == 2


def test_what_is_not_due_any_more_is_not_run_and_keeps_its_last_run():
    claims = Claims(Memory())
    ran(Jobs(Job("k", lambda *_: Outcome(done=7))), claims=claims)
    idle = Job("k", lambda *_: pytest.fail("it ran"), due=False)
    ran(Jobs(idle), claims=claims)
    assert idle.outcomes == [None]
    assert runs_of(claims, "k").last.done == 7


def test_what_another_one_has_claimed_is_left_to_it():
    files = Memory()
    assert Claims(files).claim("k")
    job = Job("k", lambda *_: pytest.fail("it ran"))
    ran(Jobs(job), claims=Claims(files))
    assert job.outcomes == [None]


def test_a_store_that_fails_is_the_tasks_failure():
    class Broken(Memory):
        def list(self, prefix):
            raise StoreError("no network")

    job = Job("k")
    ran(Jobs(job), claims=Claims(Broken()))
    assert str(job.outcomes[0].error) == "no network"


def test_told_to_stop_what_runs_ends_and_nothing_begins():
    stop, claims = threading.Event(), Claims(Memory())

    def work(_report, ending):
        stop.set()
        assert ending.wait(30)
        raise CancelledError("it was cancelled")

    first, second = Job("a", work, group="g"), Job("b", group="g", since=1)
    ran(Jobs(first, second), claims=claims, stop=stop)
    assert len(first.outcomes) == 1 and not second.outcomes
    last = runs_of(claims, "a").last
    assert (last.failures, last.error, last.more) == (0, None, True)


def test_interrupted_it_aborts_what_runs(monkeypatch):
    aborted, begun = threading.Event(), threading.Event()

    def work(_report, _stop):
        begun.set()
        assert aborted.wait(30)
        raise CancelledError("it was cancelled")

    runner = Runner([Jobs(Job("a", work))], None)

    def interrupted(_seconds):
        begun.wait(30)
        raise KeyboardInterrupt

    monkeypatch.setattr(runner, "_took", interrupted)
    with pytest.raises(KeyboardInterrupt):
        runner.run(threading.Event(), aborted.set)
    assert aborted.is_set()


@pytest.mark.parametrize("error", [AssertionError("a fault"), SparkElsewhereError("needs Spark")])
def test_what_no_task_may_raise_is_raised_once_others_have_ended(error):
    claims = Claims(Memory())

    def work(_report, _stop):
        raise error

    with pytest.raises(type(error)):
        ran(Jobs(Job("a", work)), claims=claims)
    assert runs_of(claims, "a") == TaskRuns()


RUNS = st.builds(
    FinishedRun,
    began_ms=st.integers(0, 2**40),
    ended_ms=st.integers(0, 2**40),
    state=st.text(max_size=5),
    done=st.integers(0, 9),
    twice=st.integers(0, 9),
    more=st.booleans(),
    failures=st.integers(0, 2**40),
    error=st.none() | st.text(max_size=9),
    code=st.none() | st.text(max_size=9),
)


@given(RUNS)
def test_a_run_is_read_as_it_was_written(run):
    assert FinishedRun.from_json(run.to_json()) == run


@given(RUNS, st.data())
def test_what_is_no_run_is_none(run, data):
    raw = run.to_json()
    name = data.draw(st.sampled_from(sorted(raw)))
    if data.draw(st.booleans()):
        del raw[name]
        found = FinishedRun.from_json(raw)
        assert (found is None) == (name in ("began_ms", "ended_ms"))
    else:
        raw[name] = data.draw(st.sampled_from([[], {}, 1.5, "1" * 3, 2**70, True]))
        found = FinishedRun.from_json(raw)
        assert found is None or isinstance(found, FinishedRun)


@given(RUNS, st.integers(0, 2**40), st.integers(0, 9))
def test_waits_are_bounded_whatever_the_clocks(run, now_ms, deaths):
    wait = TaskRuns(run, None, deaths, run.began_ms).wait_s(run.state, now_ms)
    assert 0 <= wait <= 3600 + AHEAD_MS / 1000
    assert 0 <= until_s(run, 600, now_ms, since_began=True) <= 600 + AHEAD_MS / 1000
    if not run.failures and deaths <= 2:
        assert wait == 0


def test_deaths_delay_from_the_third_on():
    for last in (
        None,
        FinishedRun(began_ms=0, ended_ms=1),
        FinishedRun(began_ms=0, ended_ms=10**12),
    ):
        waits = [TaskRuns(last, None, deaths, 10**12).wait_s("", 10**12) for deaths in range(6)]
        assert waits == [0, 0, 0, 10, 20, 40]


def test_a_task_that_kills_each_process_waits_though_it_never_ran_to_its_end():
    files, now_ms, waits = Memory(), [10**12], []
    for number in range(5):
        claims = Claims(
            files, now_ms=lambda: now_ms[0], process=f"p{number}", gone=lambda _told: True
        )
        assert claims.claim("a") is not None  # and the process dies over it
        waits.append(runs_of(claims, "a").wait_s("", now_ms[0]))
        now_ms[0] += 10_000
        waits.append(runs_of(claims, "a").wait_s("", now_ms[0]))
    assert waits == [0, 0, 0, 0, 10, 0, 20, 10, 40, 30]


class _SlowToGo:
    """What a thread has of its own, such as an engine's connection."""

    def __init__(self, gone: threading.Event) -> None:
        self._gone = gone

    def __del__(self) -> None:
        threading.Event().wait(0.2)
        self._gone.set()


def test_once_it_ends_its_threads_have_let_go_of_what_was_theirs():
    """Otherwise a connection ends together with Python, which then aborts the process."""
    own, gone = threading.local(), threading.Event()

    def work(_report, _stop):
        own.held = _SlowToGo(gone)
        return Outcome(1)

    ran(Jobs(Job("a", work)))
    assert gone.is_set()
