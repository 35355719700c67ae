"""The advisor by itself: what it makes, what it leaves alone, what it takes back; without Java."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from accelerator import Accelerator
from accelerator.cli.main import main
from accelerator.errors import (
    AdviceError,
    BuildError,
    CancelledError,
    SparkElsewhereError,
    StoreError,
)
from accelerator.iceberg import CatalogError
from accelerator.services.advisor.apply import record
from accelerator.services.advisor.report import Advised
from accelerator.services.advisor.results import TrialPeriod
from accelerator.services.advisor.service import Advise
from accelerator.services.maintenance.daemon import Schedule
from accelerator.services.runner import Runner
from accelerator.store.journals import ledger
from accelerator.store.journals.claims import Claims, TaskProgress
from accelerator.store.journals.ledger import FOLDER, UNPAID, AppliedAdvice
from accelerator.store.journals.run import FinishedRun
from tests.accelerator.services.advisor.asked_lake import BY_KIND, REGIONS, ROWS, TOTAL, fill, log
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
from tests.support.pristine import Pristine, catalog_of


@pytest.fixture
def lake(pristine: Pristine, no_java: None) -> Path:
    return pristine.lake(fill)


def test_it_makes_what_pays_and_tells_what_came_of_it(lake):
    with opened(lake) as acc:
        nothing = run(acc)  # no log yet
        assert (nothing.advised, nothing.steps, nothing.error) == (0, (), None)
        log(acc, (REGIONS, 50), (BY_KIND, 30))
        plain = {sql: acc.query(sql).arrow().to_pylist() for sql in (REGIONS, BY_KIND)}
        done = run(acc)
        assert done.error is None and done.steps and not done.left
        assert {one.action for one in done.steps} == {"CREATE CUBE"} and done.in_use
        for sql, before in plain.items():
            found = acc.query(sql)
            assert found.metrics.cubes, sql
            assert sorted(map(repr, found.arrow().to_pylist())) == sorted(map(repr, before))
        for row in acc.query("SHOW CUBES").arrow().to_pylist():
            assert (row["segments"], row["refresh"], row["status"]) == (1, "on_commit", "complete")
        assert {(one.by, one.state) for one in entries(acc)} == {("auto", "done")}
        name = done.steps[0].name
        log(acc, (REGIONS, 20), ms=5.0, cubes=(name,))
        log(acc, (REGIONS, 4), ms=5.0, cubes=(name,), cached=True)
        rows = {row["name"]: row for row in results(acc, " ON d.f")}
        row = rows[name]
        assert (row["by"], row["status"], row["runs"]) == ("auto", "in use", 20)
        assert (row["before_ms"], row["now_ms"]) == (100.0, 5.0)
        assert row["gain_ms_per_day"] == pytest.approx(20 * 95 * 24)  # an hour at least
        assert row["build_s"] > 0 and row["promised_bytes"] > 0
        sizes = {one["cube"]: one["bytes"] for one in acc.query("SHOW CUBES").arrow().to_pylist()}
        assert row["bytes"] == sizes[name]  # what was merged doesn't count
        assert results(acc, " ON d.shops") == []
        assert [one.runs for one in acc.advice_results("d.f") if one.name == name] == [20]
        again = run(acc)
        assert again.steps == () and again.gain_ms == pytest.approx(20 * 95 * 24)


def test_advise_alone_makes_nothing(lake):
    with opened(lake, advisor="advise") as acc:
        log(acc, (REGIONS, 50))
        done = run(acc)
        assert done.advised == 1 and done.steps == () and not cubes(acc)
        assert len(acc.recommendations()) == 1 and entries(acc) == ()


def test_what_a_person_applies_is_written_down_too(lake):
    with opened(lake) as acc:
        log(acc, (REGIONS, 50))
        (one,) = acc.analyze("d.f").recommendations
        acc.apply(one.id)
        (entry,) = entries(acc)
        assert (entry.by, entry.state, entry.id) == ("hand", "done", one.id)
        assert entry.artifact_id == acc.services.store.registry().cubes[one.cube].id
        assert list(ledger.read(acc.services.store.files).raw_ms.values()) == [100.0]
        assert entry.gain_ms == one.gain_ms and entry.built_s > 0


def test_limits_hold(lake):
    with opened(lake, advisor_steps_max=1) as acc:
        log(acc, (REGIONS, 50), (BY_KIND, 30), (TOTAL, 30))
        wide = acc.analyze().recommendations
        assert len(wide) > 1
        done = run(acc)
        assert len(done.steps) == 1 and done.left and done.skipped["steps"] == len(wide) - 1
        assert len(run(acc).steps) == 1
    with opened(lake, advisor_build_minutes=1e-3, store=str(lake.parent / "s2")) as acc:
        log(acc, (REGIONS, 50))
        assert run(acc).steps == ()  # none is so quick
    with opened(lake, advisor_bytes_max=1, store=str(lake.parent / "s3")) as acc:
        log(acc, (REGIONS, 50))
        assert run(acc).steps == ()
    with opened(lake, advisor_bytes_max=0, store=str(lake.parent / "s4")) as acc:
        log(acc, (REGIONS, 50))
        with pytest.raises(AdviceError, match="budget is nothing"):
            run(acc)


def test_what_builds_took_today_counts(lake):
    with opened(lake, advisor_build_minutes=1) as acc:
        log(acc, (REGIONS, 50))
        now = record.now_ms()
        made = AppliedAdvice("1" * 32, "r1", "CREATE CUBE", "t", "u", "c", "auto", "done", now, now)
        files = acc.services.store.files
        ledger.change(files, lambda one: one.with_entry(replace(made, built_s=59.9)))
        done = run(acc)
        assert done.steps == () and done.left and done.skipped == {"build_minutes": 1}
        yesterday = replace(made, built_s=59.9, began_ms=now - 25 * 3_600_000)
        ledger.change(files, lambda one: one.with_entry(yesterday))
        assert len(run(acc).steps) == 1


def test_what_doesnt_pay_is_taken_back_comes_back_and_stays(lake):
    with opened(lake, **AT_ONCE) as acc:
        log(acc, (REGIONS, 50))
        (step,) = run(acc).steps
        log(acc, (TOTAL, 30))  # from now on something else is asked
        done = run(acc)
        assert [one.action for one in done.steps] == ["DROP CUBE", "CREATE CUBE"]
        assert done.steps[0].name == step.name and step.name not in cubes(acc)
        reason = next(row["reason"] for row in results(acc) if row["action"] == "DROP CUBE")
        assert reason.startswith(UNPAID) and "answered 0 of 30" in reason
        first = acc.services.store.registry(fresh=True).bin[0].cube
        assert run(acc).steps == ()  # it isn't made once more
        assert acc.analyze().left_out["tried_in_vain"] == 50
        log(acc, (REGIONS, 50), cubes=(), ms=101.0)
        newer = acc.analyze()
        assert newer.left_out["tried_in_vain"] == 50  # newer ones count …
        assert any("made in vain" in one for one in newer.notes)  # … but not for the same again
        acc.undrop(step.name)
        assert acc.query(REGIONS).metrics.cubes == (step.name,)
        log(acc, (TOTAL, 30), cubes=(done.steps[1].name,), ms=2.0)
        assert run(acc).steps == () and step.name in cubes(acc)
        assert acc.services.store.registry(fresh=True).cubes[step.name].id == first.id
        assert "brought back" in {row["status"] for row in results(acc)}


def test_what_couldnt_come_back_isnt_dropped(lake):
    with opened(lake, **AT_ONCE, recycle_bin_hours=0) as acc:
        log(acc, (REGIONS, 50))
        (step,) = run(acc).steps
        log(acc, (TOTAL, 30))
        assert run(acc).skipped["no_recycle_bin"] == 1 and step.name in cubes(acc)


def test_a_gain_is_shared_among_all_that_answered(lake):
    with opened(lake) as acc:
        log(acc, (REGIONS, 50), (BY_KIND, 50))
        made = run(acc).steps
        names = tuple(one.name for one in made)
        assert len(names) == 2
        log(acc, (REGIONS, 10), ms=20.0, cubes=names)
        log(acc, (BY_KIND, 3), ms=150.0, cubes=names[:1])  # slower than before
        log(acc, (TOTAL, 4), ms=1.0, cubes=names[1:])  # what that took before isn't known
        by_name = {one.name: one for one in acc.advice_results()}
        first, second = (by_name[name] for name in names)
        assert (first.runs, first.untold, second.runs, second.untold) == (13, 0, 14, 4)
        assert first.gain_ms == pytest.approx((10 * 80 / 2 - 3 * 50) * 24)
        assert second.gain_ms == pytest.approx(10 * 80 / 2 * 24)
        assert first.statements == second.statements == 17
        acc.query(f"DROP CUBE {names[0]}")
        log(acc, (REGIONS, 10), ms=20.0, cubes=names)
        gone = next(one for one in acc.advice_results() if one.name == names[0])
        assert (gone.status, gone.runs, gone.bytes) == ("dropped", 13, None)


def test_how_far_it_is_is_shown(lake):
    with opened(lake) as acc:
        files = acc.services.store.files
        claim = Claims(files).claim("advise")
        claim.prolong(TaskProgress(3, 10))
        begun = AppliedAdvice("1" * 32, "r1", "CREATE CUBE", "t", "u", "c", "auto", "begun", 1)
        ledger.change(files, lambda one: one.with_entry(begun))
        assert [row["status"] for row in results(acc)] == ["begun 3/10"]
        claim.end(None)
        assert [row["status"] for row in results(acc)] == ["begun"]


def test_what_pays_stays(lake):
    with opened(lake, **AT_ONCE) as acc:
        log(acc, (REGIONS, 50))
        (step,) = run(acc).steps
        log(acc, (REGIONS, 50), ms=2.0, cubes=(step.name,))
        assert run(acc).steps == () and cubes(acc) == {step.name}


def test_by_hand_the_drop_is_advised(lake):
    with opened(lake, advisor="manual", **AT_ONCE) as acc:
        log(acc, (REGIONS, 50))
        acc.apply(acc.analyze("d.f").recommendations[0].id)
        (name,) = cubes(acc)
        log(acc, (TOTAL, 30))
        drops = [one for one in acc.analyze().recommendations if one.action == "DROP CUBE"]
        assert [one.cube for one in drops] == [name] and drops[0].reason.startswith(UNPAID)
        acc.apply(drops[0].id)
        assert name not in cubes(acc)
        assert acc.undrop(name) == name


def test_what_a_person_made_is_left_alone(lake):
    with opened(lake, **AT_ONCE, advisor_keep_days=0) as acc:
        acc.query(f"CREATE CUBE mine AS {REGIONS}")
        log(acc, (TOTAL, 30))
        assert "DROP CUBE" in {one.action for one in acc.analyze(keep_days=0).recommendations}
        done = run(acc)
        assert done.skipped["not_its_own"] == 1 and "mine" in cubes(acc)
    with opened(lake, **AT_ONCE, advisor_keep_days=0, advisor_drops="none") as acc:
        run(acc)
        assert "mine" in cubes(acc)
    with opened(lake, **AT_ONCE, advisor_keep_days=0, advisor_drops="all") as acc:
        run(acc)
        assert "mine" not in cubes(acc)
        assert "mine" in [one.cube.name for one in acc.services.store.registry(fresh=True).bin]


def test_what_a_person_dropped_isnt_made_again(lake):
    with opened(lake) as acc:
        log(acc, (REGIONS, 50))
        (step,) = run(acc).steps
        acc.query(f"DROP CUBE {step.name} FORCE")
        assert run(acc).skipped == {"dropped_by_others": 1}
    with opened(lake, store=str(lake.parent / "s2")) as acc:
        acc.query(f"CREATE CUBE c AS {REGIONS}")
        acc.query("DROP CUBE c")
        log(acc, (REGIONS, 50))
        assert run(acc).skipped == {"dropped_by_others": 1}


@pytest.mark.parametrize("moment", ["before", "after", "written"])
def test_a_run_that_died_is_gone_on_with_and_nothing_is_doubled(lake, moment):
    with opened(lake) as acc:
        log(acc, (REGIONS, 50))

        def dying(statement):
            if moment == "before":
                raise Died
            made = own_execute(acc)(statement)
            if moment == "after" or "Compact" in type(statement).__name__:
                raise Died
            return made

        with pytest.raises(Died):
            run(acc, dying)
        (entry,) = entries(acc)
        assert (entry.by, entry.state) == ("auto", "begun")
        row = results(acc)[0]
        assert row["status"] == "begun" and row["build_s"] is None
        done = run(acc)
        assert done.error is None and {one.state for one in entries(acc)} == {"done"}
        (made,) = acc.services.store.registry(fresh=True).cubes.values()
        assert len(entries(acc)) == 1
        assert entries(acc)[0].artifact_id == made.id
        (row,) = acc.query("SHOW CUBES").arrow().to_pylist()
        assert (row["status"], row["segments"], row["refresh"]) == ("complete", 1, "on_commit")
        assert run(acc).steps == ()


def test_a_drop_that_died_is_written_down(lake):
    with opened(lake, **AT_ONCE) as acc:
        log(acc, (REGIONS, 50))
        (step,) = run(acc).steps
        (made,) = entries(acc)
        gone = replace(
            made, key="2" * 32, id="r2", action="DROP CUBE", state="begun", digest="", ended_ms=0
        )
        ledger.change(acc.services.store.files, lambda one: one.with_entry(gone))
        acc.query(f"DROP CUBE {step.name}")
        run(acc)
        assert [one.state for one in entries(acc) if one.drops] == ["done"]


def test_a_build_that_fails_leaves_nothing_and_isnt_tried_at_once(lake, monkeypatch):
    with opened(lake) as acc:
        log(acc, (REGIONS, 50))

        def failing(*_given, **_more):
            raise BuildError("no room", hint="make some")

        monkeypatch.setattr(type(acc.services.builder), "build", failing)
        done = run(acc)
        assert done.code == "build_failed" and done.steps[0].error == "no room"
        assert not cubes(acc) and entries(acc)[0].state == "failed"
        monkeypatch.undo()
        assert run(acc).skipped == {"failed_lately": 1}


@pytest.mark.parametrize("error", [CancelledError, SparkElsewhereError, CatalogError])
def test_who_is_stopped_goes_on_later(lake, monkeypatch, error):
    with opened(lake) as acc:
        log(acc, (REGIONS, 50))

        def stopped(*_given, **_more):
            raise error("not here", hint="later")

        monkeypatch.setattr(type(acc.services.builder), "build", stopped)
        if error is CatalogError:
            assert run(acc).code == error.code
        else:
            with pytest.raises(error):
                run(acc)
        assert entries(acc)[0].state == "begun"
        monkeypatch.undo()
        run(acc)
        assert entries(acc)[0].state == "done" and len(cubes(acc)) == 1
        stop = threading.Event()
        stop.set()
        log(acc, (TOTAL, 90))
        with pytest.raises(CancelledError):
            run(acc, stop=stop)


def test_what_was_begun_over_a_table_that_is_gone_ends(lake, monkeypatch):
    with opened(lake) as acc:
        log(acc, (REGIONS, 50))

        def stopped(*_given, **_more):
            raise CancelledError("not now", hint="later")

        monkeypatch.setattr(type(acc.services.builder), "build", stopped)
        with pytest.raises(CancelledError):
            run(acc)
        monkeypatch.undo()
        catalog = catalog_of(lake)
        catalog.drop_table("d.f")
        catalog.engine.dispose()
        assert run(acc).code is not None
        assert entries(acc)[0].state == "failed" and not cubes(acc)
        assert run(acc).error is None


def test_a_table_that_is_gone_and_a_commit_meanwhile(lake):
    with opened(lake) as acc:
        log(acc, (REGIONS, 50), (TOTAL, 50))
        catalog = catalog_of(lake)

        def committing(statement):
            table = catalog.load_table("d.f")
            table.append(table.scan(limit=10).to_arrow())
            return own_execute(acc)(statement)

        done = run(acc, committing)
        assert done.error is None and done.steps
        found = acc.query(TOTAL).arrow().to_pylist()
        assert found[0]["n"] > len(range(2, ROWS, 7))
        catalog.drop_table("d.shops")
        catalog.drop_table("d.f")
        catalog.engine.dispose()
        log(acc, (TOTAL, 50))
        after = run(acc)
        assert after.steps == () and after.error is None


def test_the_trial_waits_for_time_and_statements(lake):
    with opened(lake, advisor_trial_statements=20) as acc:
        log(acc, (REGIONS, 50))
        run(acc)
        log(acc, (TOTAL, 25))
        (result,) = acc.advice_results()
        now = record.now_ms()
        assert TrialPeriod(0, 20).verdict(result, now)
        assert TrialPeriod(0, 26).verdict(result, now) == ""
        assert TrialPeriod(1, 20).verdict(result, now) == ""
        assert TrialPeriod(1, 20).verdict(result, now + 86_400_001)
        assert TrialPeriod(1, 20).verdict(result, now - 86_400_001) == ""  # a clock went back
        assert TrialPeriod(0, 20, 0.0).verdict(result, now) == ""
        unknown = replace(result, runs=4, untold=3)
        assert TrialPeriod(0, 20).verdict(unknown, now) == ""


def service(acc: Accelerator, told: list, **more) -> Advise:
    claims = Claims(acc.services.store.files)
    return Advise(acc.services, claims, own_execute(acc), told.append, **more)


def test_as_a_service_it_runs_once_where_there_is_news(lake):
    with opened(lake) as acc:
        log(acc, (REGIONS, 50))
        told: list[Advised] = []
        files, now = acc.services.store.files, record.now_ms()
        Runner([service(acc, told, once=True)], Claims(files)).run(threading.Event())
        assert len(told) == 1 and len(told[0].steps) == 1
        ended = FinishedRun.from_json(Claims(files).seen("advise").last)
        assert ended is not None and ended.done == 1
        assert ended.failures == 0 and not ended.more
        assert not service(acc, told).due().tasks  # within the hour
        hours = now + 2 * 3_600_000
        assert service(acc, told, now_ms=lambda: hours).due().tasks
        at_two = Runner([service(acc, told, once=True)], Claims(files), now_ms=lambda: hours)
        at_two.run(threading.Event())
        assert len(told) == 2 and told[1].steps == ()
        assert not service(acc, told, now_ms=lambda: hours + 7_200_000).due().tasks  # no news


def test_a_run_without_a_budget_is_told_and_tried_later(lake):
    with opened(lake, advisor_bytes_max=0) as acc:
        log(acc, (REGIONS, 50))
        told: list[Advised] = []
        Runner([service(acc, told, once=True)], Claims(acc.services.store.files)).run(
            threading.Event()
        )
        assert [one.code for one in told] == ["advice_invalid"]
        due = service(acc, told).due()
        assert not due.tasks and 0 < due.again_s <= 60


def test_a_wrong_clock_delays_nothing(lake):
    with opened(lake) as acc:
        one, now = service(acc, []), record.now_ms()
        ahead = FinishedRun(began_ms=now + 10**10, ended_ms=now + 10**10, state=one.state)
        assert one.is_due(ahead, 0)
        recent = replace(ahead, began_ms=now - 1000, ended_ms=now)
        assert not one.is_due(recent, 0)
        old = replace(ahead, began_ms=now - 4_000_000, ended_ms=now - 4_000_000)
        assert not one.is_due(old, 0)  # no log, no news
        assert one.is_due(old, 1) and one.is_due(replace(old, more=True), 0)
        assert one.is_due(replace(old, state="other"), 0)


def test_what_cant_be_told_is_asked_later(lake, monkeypatch):
    with opened(lake) as acc:
        one = service(acc, [])

        def failing(*_given):
            raise StoreError("no answer", hint="again")

        monkeypatch.setattr(type(acc.services.store.files), "folders", failing)
        monkeypatch.setattr(type(acc.services.store.files), "list", failing)
        due = one.due()
        assert not due.tasks and due.again_s > 0


def test_files_of_the_ledger_alone_are_written(lake):
    with opened(lake) as acc:
        log(acc, (REGIONS, 50))
        run(acc)
        assert 1 <= len(acc.services.store.files.list(FOLDER)) <= ledger.KEPT


def test_a_read_only_store_is_left_alone(lake, caplog):
    with opened(lake) as acc:
        log(acc, (REGIONS, 50))
    told: list[Advised] = []
    with opened(lake, store_read_only=True) as acc:
        stop = threading.Event()
        acc.maintain(Schedule(), lambda _: None, stop=stop, rounds=1, tell_advice=told.append)
        assert told == [] and not cubes(acc)
        assert "the advisor doesn't run" in caplog.text


def test_the_command_line_tells_of_it(lake, monkeypatch):
    for name, value in (("ADVISOR", "auto"), ("QUERY_LOG", "false")):
        monkeypatch.setenv(f"ACCELERATOR_{name}", value)

    def told(*words: str) -> str:
        found = CliRunner().invoke(main, [*words, "--warehouse", str(lake)])
        assert found.exit_code == 0, found.output
        return found.output

    with opened(lake) as acc:
        assert "nothing was applied" in told("results")
        log(acc, (REGIONS, 50))
        said = told("serve-maintenance", "--once")
        (name,) = cubes(acc)
        assert f"advisor: CREATE CUBE {name} (" in said
        log(acc, (REGIONS, 5), ms=5.0, cubes=(name,))
        said = told("results", "d.f")
        assert f"CREATE CUBE {name}  (in use, by auto)" in said
        assert "answered 5 of 5 statements, in 5 ms each instead of 100" in said
        assert name in json.loads(told("results", "--json"))["rows"][0]
        acc.query(f"DROP CUBE {name}")
        log(acc, (REGIONS, 5))
        assert "advisor: 1 advised, 1 of them not applied" in told("serve-maintenance", "--once")
