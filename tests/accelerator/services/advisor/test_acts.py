"""What people did to cubes and indexes, under whatever name, the advisor doesn't undo; no Java."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from accelerator.errors import CubeExistsError, IndexExistsError, StoreConflictError
from accelerator.services.advisor.apply import record as apply_record
from accelerator.services.advisor.apply.user_changes import note
from accelerator.services.advisor.results import Results
from accelerator.store.journals import ledger
from accelerator.store.journals.advice import read
from tests.accelerator.services.advisor import asked_lake, looked_up_lake
from tests.accelerator.services.advisor.asked_lake import REGIONS, TOTAL, log
from tests.accelerator.services.advisor.by_itself import (
    AT_ONCE,
    cubes,
    entries,
    opened,
    results,
    run,
)
from tests.accelerator.services.advisor.looked_up_lake import log_lookups, lookup
from tests.support.pristine import Pristine

ALL = {**AT_ONCE, "advisor_keep_days": 0, "advisor_drops": "all"}


@pytest.fixture
def lake(pristine: Pristine, no_java: None) -> Path:
    return pristine.lake(asked_lake.fill)


@pytest.fixture
def looked_up(pristine: Pristine, no_java: None) -> Path:
    return pristine.lake(looked_up_lake.fill, "looked up")


def made_by_itself(acc) -> str:
    """The name of the cube that it makes, which from then on nobody asks."""
    log(acc, (REGIONS, 50))
    (step,) = run(acc).steps
    log(acc, (TOTAL, 30))
    return step.name


def done(acc) -> list[tuple[str, str]]:
    """What one run of it does: action and name."""
    return [(one.action, one.name) for one in run(acc).steps]


@pytest.mark.parametrize("settings", [AT_ONCE, ALL], ids=["own", "all"])
@pytest.mark.parametrize("back", ["{0}", "{0} AS mine"], ids=["same name", "another"])
def test_what_a_person_dropped_and_brought_back_stays(lake, settings, back):
    """By its id: its name is another one, and the ledger has no drop of it."""
    with opened(lake, **settings) as acc:
        name = made_by_itself(acc)
        acc.query(f"DROP CUBE {name}")
        acc.query(f"UNDROP CUBE {back.format(name)}")
        (mine,) = cubes(acc)
        for _ in range(2):
            assert ("DROP CUBE", mine) not in done(acc)
            log(acc, (TOTAL, 30))
        assert mine in cubes(acc)
        assert next(row["status"] for row in results(acc) if row["name"] == mine) == "in use"


def test_what_advice_dropped_and_came_back_under_another_name_stays(lake):
    with opened(lake, **ALL) as acc:
        name = made_by_itself(acc)
        assert "DROP CUBE" in [one.action for one in run(acc).steps]
        assert acc.undrop(name, as_="mine") == "mine"
        log(acc, (TOTAL, 30))
        assert ("DROP CUBE", "mine") not in done(acc) and "mine" in cubes(acc)
        files = acc.services.store.files  # so long ago that the ledger has no drop of it
        ledger.change(files, lambda known: replace(known, entries=()))
        log(acc, (TOTAL, 30))
        assert ("DROP CUBE", "mine") not in done(acc) and "mine" in cubes(acc)


def test_what_a_person_made_anew_that_was_dropped_stays(lake):
    """The same definition under another name, which has an id of its own."""
    with opened(lake, **ALL) as acc:
        made_by_itself(acc)
        assert "DROP CUBE" in [one.action for one in run(acc).steps]
        acc.query(f"CREATE CUBE mine AS {REGIONS}")
        log(acc, (TOTAL, 30))
        run(acc)
        assert "mine" in cubes(acc)


def test_what_a_person_altered_isnt_its_own_any_more(lake):
    with opened(lake, **AT_ONCE) as acc:
        name = made_by_itself(acc)
        acc.query(f"ALTER CUBE {name} SET REFRESH = MANUAL")
        found = run(acc)
        assert found.skipped["not_its_own"] == 1 and name in cubes(acc)


def test_what_a_person_set_while_it_was_built_stays(lake, monkeypatch):
    with opened(lake) as acc:
        log(acc, (REGIONS, 50))
        builder = type(acc.services.builder)
        build = builder.build

        def altering(self, records, **more):
            acc.query(f"ALTER CUBE {records[0].name} SET REFRESH = EVERY '2 hours'")
            return build(self, records, **more)

        monkeypatch.setattr(builder, "build", altering)
        run(acc)
        (row,) = acc.query("SHOW CUBES").arrow().to_pylist()
        assert row["refresh"] == "2 hours"


@pytest.mark.parametrize("again", ["after advice", "after a person"])
def test_what_a_person_dropped_at_last_isnt_made_again(lake, again):
    """Though advice had dropped it before, or nobody's ledger ever had it."""
    with opened(lake, **AT_ONCE) as acc:
        if again == "after advice":
            name = made_by_itself(acc)
            run(acc)
            acc.undrop(name)
        else:
            name = "mine"
            acc.query(f"CREATE CUBE mine AS {REGIONS}")
        acc.query(f"DROP CUBE {name} FORCE")  # no recycle bin has it
        files = acc.services.store.files
        ledger.change(files, lambda known: replace(known, vain_ms={}, entries=()))
        log(acc, (REGIONS, 50))
        found = run(acc)
        assert found.skipped.get("dropped_by_others") == 1
        assert REGIONS not in [
            row["definition"] for row in acc.query("SHOW CUBES").arrow().to_pylist()
        ]


def test_an_index_that_a_person_dropped_isnt_made_again(looked_up):
    """Indexes have no recycle bin that would tell."""
    with opened(looked_up) as acc:
        log_lookups(acc)
        (one,) = acc.analyze().recommendations
        acc.query(one.ddl)
        acc.query(f"DROP INDEX {one.index}")
        found = run(acc)
        assert (found.steps, found.skipped) == ((), {"dropped_by_others": 1})


def test_an_index_that_a_person_made_anew_stays(looked_up):
    with opened(looked_up, **ALL) as acc:
        log_lookups(acc)
        (step,) = run(acc).steps
        log_lookups(acc, 40)  # none of them used it
        assert [one.action for one in run(acc).steps] == ["DROP INDEX"]
        (made,) = [one for one in entries(acc) if one.creates]
        assert step.name == made.name
        acc.query(next(one.ddl for one in _created(acc)).replace(step.name, "mine", 1))
        log_lookups(acc, 40)
        run(acc)
        assert "mine" in acc.services.store.registry(fresh=True).indexes


def _created(acc):
    every = read(acc.services.store.files)
    return [one for advice in every for one in advice.recommendations if one.action[0] == "C"]


def test_what_is_there_under_another_name_is_applied(lake, looked_up):
    with opened(lake) as acc:
        log(acc, (REGIONS, 50))
        (one,) = acc.analyze("d.f").recommendations
        other = "SELECT kind, count(*) FROM d.f GROUP BY kind"
        acc.query(f"CREATE CUBE {one.cube} AS {other}")
        statuses = [row["status"] for row in acc.query("SHOW RECOMMENDATIONS").arrow().to_pylist()]
        assert statuses == ["open"]  # another cube has its name
        acc.query(f"CREATE CUBE mine AS {one.ddl.partition(' AS ')[2]}")
        statuses = [row["status"] for row in acc.query("SHOW RECOMMENDATIONS").arrow().to_pylist()]
        assert statuses == ["applied"]
        acc.query(f"DROP CUBE {one.cube}")
        with pytest.raises(CubeExistsError, match="mine has the definition"):
            acc.apply(one.id)
    with opened(looked_up) as acc:
        log_lookups(acc)
        (one,) = acc.analyze().recommendations
        acc.query(one.ddl.replace(one.index, "mine", 1))
        assert acc.query(lookup(3)).metrics.indexes == ("mine",)
        with pytest.raises(IndexExistsError, match="mine is the one"):
            acc.apply(one.id)


def test_runs_under_an_older_name_count(lake):
    with opened(lake, **AT_ONCE) as acc:
        log(acc, (REGIONS, 50))
        (step,) = run(acc).steps
        log(acc, (REGIONS, 30), ms=2.0, cubes=(step.name,))
        acc.query(f"DROP CUBE {step.name}")
        acc.query(f"UNDROP CUBE {step.name} AS mine")
        acc.query(f"CREATE CUBE {step.name} AS SELECT kind, count(*) FROM d.f GROUP BY kind")
        log(acc, (REGIONS, 10), ms=2.0, cubes=("mine",))
        log(acc, (REGIONS, 5), ms=2.0, cubes=(step.name,))  # of the other cube
        (row,) = [one for one in results(acc) if one["name"] == "mine"]
        assert (row["runs"], row["now_ms"], row["verdict"]) == (40, 2.0, "pays")


def test_what_was_just_brought_back_isnt_advised_away(lake, monkeypatch):
    """Under its new name nobody can have asked it yet."""
    with opened(lake, advisor="manual") as acc:
        acc.query(f"CREATE CUBE old AS {REGIONS}")
        log(acc, (TOTAL, 30), days_ago=20)
        log(acc, (TOTAL, 30))
        record = acc.services.store.registry(fresh=True).cubes["old"]
        past = record.created_ms - 30 * 86_400_000
        acc.services.store.change_cube("old", created_ms=past)
        assert "DROP CUBE" in [one.action for one in acc.analyze().recommendations]
        acc.query("DROP CUBE old")
        acc.query("UNDROP CUBE old AS mine")
        assert "DROP CUBE" not in [one.action for one in acc.analyze().recommendations]


def test_an_act_that_cant_be_noted_fails_no_statement(lake, monkeypatch, caplog):
    def busy(*_given):
        raise StoreConflictError("others were first", hint="try again")

    with opened(lake) as acc:
        acc.query(f"CREATE CUBE c AS {REGIONS}")
        monkeypatch.setattr(ledger, "change", busy)
        acc.query("DROP CUBE c")
        assert not cubes(acc) and "the advisor won't know that c was dropped" in caplog.text
        note(acc.services, "dropped")  # of nothing
        assert apply_record.now_ms() and not Results(acc.services).own()
