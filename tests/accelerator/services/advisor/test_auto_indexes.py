"""Indexes that the advisor makes by itself: owned, gone on with, judged, dropped once; no Java."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from accelerator import Accelerator
from accelerator.builds.sidecars.builder import IndexBuilder
from accelerator.errors import AdviceStaleError, BuildError, CancelledError, IndexNotFoundError
from accelerator.query.statements.nodes import CreateIndex
from accelerator.services.advisor.results import Results
from accelerator.services.advisor.workload.queries import WorkloadReader
from accelerator.store import IndexRecord
from accelerator.store.journals.ledger import UNPAID
from tests.accelerator.services.advisor.asked_lake import BY_KIND, REGIONS, TOTAL, log
from tests.accelerator.services.advisor.asked_lake import fill as fill_asked
from tests.accelerator.services.advisor.by_itself import (
    AT_ONCE,
    Died,
    cubes,
    entries,
    opened,
    own_execute,
    results,
    run,
)
from tests.accelerator.services.advisor.looked_up_lake import FILES, fill, log_lookups, lookup
from tests.support.pristine import Pristine


@pytest.fixture
def lake(pristine: Pristine, no_java: None) -> Path:
    return pristine.lake(fill, "looked up")


TURNS = (
    *(REGIONS, BY_KIND, TOTAL),
    "SELECT shop, kind, sum(price) AS s FROM d.f GROUP BY shop, kind",
    "SELECT shop, count(*) AS n FROM d.f WHERE kind = 'k3' GROUP BY shop",
)


def indexes(acc: Accelerator) -> dict[str, IndexRecord]:
    return dict(acc.services.store.registry(fresh=True).indexes)


def test_an_index_is_its_own_and_follows_its_table(lake):
    with opened(lake) as acc:
        log_lookups(acc)
        (step,) = run(acc).steps
        assert (step.action, step.error) == ("CREATE INDEX", None)
        (made,) = indexes(acc).values()
        assert (made.id, made.refresh) == (entries(acc)[0].artifact_id, "on_commit")
        assert acc.query(lookup(3)).metrics.indexes == (made.name,)
        log_lookups(acc, 20, ms=100.0, indexes=(made.name,))
        (row,) = results(acc)
        assert (row["status"], row["runs"], row["before_ms"]) == ("in use", 20, 10_000.0)
        assert row["bytes"] > 0 and row["gain_ms_per_day"] > 0
        assert run(acc).steps == ()


@pytest.mark.parametrize("moment", ["marked", "made", "building"])
def test_a_kill_in_the_middle_leaves_nothing_half_done(lake, moment, monkeypatch):
    with opened(lake) as acc:
        log_lookups(acc)

        def dying(statement):
            if moment == "marked":
                raise Died
            own_execute(acc)(statement)
            if moment == "made":
                raise Died

        def merging(*_given):
            raise Died

        if moment == "building":
            monkeypatch.setattr(IndexBuilder, "_merge", merging)
        with pytest.raises(Died):
            run(acc, dying)
        monkeypatch.undo()
        assert [one.state for one in entries(acc)] == ["begun"]
        assert run(acc).error is None
        (made,), (entry,) = indexes(acc).values(), entries(acc)
        assert (entry.state, entry.artifact_id) == ("done", made.id)
        (row,) = acc.query("SHOW INDEXES").arrow().to_pylist()
        assert (row["status"], row["files_covered"]) == ("complete", FILES)
        assert made.refresh == "on_commit" and run(acc).steps == ()


def test_who_is_stopped_in_the_build_goes_on_later(lake, monkeypatch):
    with opened(lake) as acc:
        log_lookups(acc)

        def stopped(*_given, **_more):
            raise CancelledError("not now", hint="later")

        monkeypatch.setattr(IndexBuilder, "build", stopped)
        with pytest.raises(CancelledError):
            run(acc)
        monkeypatch.undo()
        assert len(run(acc).steps) == 1 and [one.state for one in entries(acc)] == ["done"]


def test_a_build_that_fails_leaves_no_index(lake, monkeypatch):
    with opened(lake) as acc:
        log_lookups(acc)

        def failing(*_given, **_more):
            raise BuildError("no room", hint="make some")

        monkeypatch.setattr(IndexBuilder, "build", failing)
        assert run(acc).code == "build_failed"
        assert not indexes(acc) and [one.state for one in entries(acc)] == ["failed"]
        monkeypatch.undo()
        done = run(acc)
        assert (done.steps, done.skipped) == ((), {"failed_lately": 1})


def test_an_index_that_is_replaced_meanwhile_is_left_alone(lake):
    """A person's index of the same name isn't the one that was begun."""
    with opened(lake) as acc:
        log_lookups(acc)

        def replacing(statement):
            made = own_execute(acc)(statement)
            if isinstance(statement, CreateIndex):
                acc.query(f"DROP INDEX {statement.name}")
                acc.query(f"CREATE INDEX {statement.name} ON d.f USING BITMAP (price)")
            return made

        run(acc, replacing)
        (mine,) = indexes(acc).values()
        assert mine.kind == "BITMAP"
        assert not Results(acc.services).own()
        with pytest.raises(IndexNotFoundError):
            acc.services.store.drop_index(mine.name, index_id="another")
        assert run(acc).steps == () and list(indexes(acc)) == [mine.name]


def test_an_index_that_doesnt_pay_is_dropped_once(lake):
    with opened(lake, **AT_ONCE) as acc:
        log_lookups(acc)
        (step,) = run(acc).steps
        log_lookups(acc, 40)  # none of them used it
        acted = [[one.action for one in run(acc).steps] for _ in range(3)]
        assert acted[0] == ["DROP INDEX"] and acted[1:] == [[], []]
        reason = next(row["reason"] for row in results(acc) if row["action"] == "DROP INDEX")
        assert reason.startswith(UNPAID) and step.name not in indexes(acc)
        assert any("indexes were left out" in note for note in acc.analyze().notes)


def test_by_hand_such_a_drop_is_advised_and_no_person_s_index_is_dropped(lake):
    with opened(lake, **AT_ONCE) as acc:
        log_lookups(acc)
        (one,) = acc.analyze().recommendations
        acc.apply(one.id)
        log_lookups(acc, 40)
        (drop,) = acc.analyze().recommendations
        assert drop.action == "DROP INDEX" and drop.reason.startswith(UNPAID)
        done = run(acc)
        assert (done.steps, done.skipped) == ((), {"not_its_own": 1})
        acc.apply(drop.id)
        assert not indexes(acc) and not acc.analyze().recommendations


def test_nothing_is_made_and_dropped_in_turns(lake):
    """With no days to keep, an index that nobody has asked yet is no idle one."""
    with opened(lake, advisor_keep_days=0) as acc:
        log_lookups(acc)
        assert [one.action for one in run(acc).steps] == ["CREATE INDEX"]
        assert run(acc).steps == () and len(indexes(acc)) == 1
    with opened(lake, advisor_keep_days=0, advisor_trial_days=0) as acc:
        assert [[one.action for one in run(acc).steps] for _ in range(3)] == [[], [], []]
        assert len(indexes(acc)) == 1, "it would serve what was asked"


def test_what_a_person_dropped_isnt_made_again(lake):
    with opened(lake) as acc:
        log_lookups(acc)
        (step,) = run(acc).steps
        acc.query(f"DROP INDEX {step.name}")
        assert run(acc).skipped == {"dropped_by_others": 1}


def test_bytes_of_indexes_count(lake):
    with opened(lake, advisor_bytes_max=60_000) as acc:
        acc.query("CREATE INDEX other ON d.f USING BITMAP (price)")
        held = acc.query("SHOW INDEXES").arrow().to_pylist()[0]["bytes"]
        log_lookups(acc)
        (one,) = acc.analyze(bytes=held + 60_000).recommendations
    with opened(lake, advisor_bytes_max=one.bytes + held - 1) as acc:
        assert run(acc).steps == ()


@pytest.fixture
def asked(pristine: Pristine, no_java: None) -> Path:
    return pristine.lake(fill_asked)


def test_a_cube_that_was_dropped_while_it_was_made_isnt_made_again(asked):
    with opened(asked) as acc:
        log(acc, (REGIONS, 50))

        def dropping(statement):
            made = own_execute(acc)(statement)
            acc.query(f"DROP CUBE {statement.name}")
            return made

        done = run(acc, dropping)
        assert done.error is None and not cubes(acc)
        assert run(acc).skipped == {"dropped_by_others": 1} and not cubes(acc)


def test_a_cube_that_was_begun_and_dropped_isnt_made_again(asked):
    with opened(asked) as acc:
        log(acc, (REGIONS, 50))

        def dying(statement):
            own_execute(acc)(statement)
            raise Died

        with pytest.raises(Died):
            run(acc, dying)
        (name,) = cubes(acc)
        acc.query(f"DROP CUBE {name}")
        assert run(acc).skipped == {"dropped_by_others": 1}
        assert [one.state for one in entries(acc)] == ["done"] and not cubes(acc)


def test_what_was_published_since_isnt_dropped(asked):
    with opened(asked, **AT_ONCE) as acc:
        log(acc, (REGIONS, 50))
        (step,) = run(acc).steps
        log(acc, (TOTAL, 30))
        drop = next(one for one in acc.analyze().recommendations if one.action == "DROP CUBE")
        store = acc.services.store
        store.change_cube(step.name, published="lake.d.shown")
        with pytest.raises(AdviceStaleError, match="published"):
            acc.apply(drop.id)
        assert step.name in cubes(acc)


def test_an_analysis_ends_soon_once_told_to_stop(asked, monkeypatch):
    with opened(asked) as acc:
        log(acc, (REGIONS, 50))
        stop = threading.Event()

        def slow(_reading, _workload, check):
            stop.set()
            while True:  # for as long as nobody stops it
                check()
                threading.Event().wait(0.01)

        monkeypatch.setattr(WorkloadReader, "understood", slow)
        with pytest.raises(CancelledError):
            run(acc, stop=stop)
        monkeypatch.undo()
        assert len(run(acc).steps) == 1


def test_what_a_person_was_told_holds_whatever_is_said_by_itself_since(asked):
    with opened(asked, advisor="advise", advisor_bytes_max=1) as acc:
        log(acc, (REGIONS, 50))
        (one,) = acc.analyze("d.f").recommendations
        assert run(acc).advised == 0  # of so few bytes nothing is advised
        assert acc.apply(one.id) == [one]
        log(acc, (TOTAL, 30))
        (other,) = acc.analyze("d.f").recommendations
        acc.analyze("d.f", bytes=1)  # a person asks anew
        with pytest.raises(AdviceStaleError):
            acc.apply(other.id)


@pytest.mark.parametrize("trial_days", [7, 0])
def test_no_cubes_are_made_and_dropped_in_turns(asked, trial_days):
    """Not even where nothing is kept, and statements come that others would answer better."""
    settings = {"advisor_keep_days": 0, "advisor_trial_days": trial_days}
    with opened(asked, **settings, advisor_bytes_max=8_000) as acc:
        log(acc, *((sql, 20 + 9 * n) for n, sql in enumerate(TURNS)), ms=4_000.0)
        made = []
        for number in range(8):
            made += [one.name for one in run(acc).steps if one.action == "CREATE CUBE"]
            log(acc, (TURNS[number % len(TURNS)], 8), ms=3_000.0)
        digests = [one.digest for one in entries(acc) if one.creates]
        assert made and len(set(digests)) == len(digests)  # nothing is made twice
        dropped = [one for one in entries(acc) if one.drops]
        assert not (dropped and trial_days)
        assert run(acc).steps == ()
