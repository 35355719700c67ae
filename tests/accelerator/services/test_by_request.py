"""Work that somebody asks for: done under its claim, once, and stopped where it is."""

from __future__ import annotations

import threading

import pyarrow as pa
import pytest

import accelerator
from accelerator.errors import CancelledError
from accelerator.services.maintenance import requested_tasks
from accelerator.store.journals.claims import Claims
from accelerator.store.journals.run_history import RunHistory
from tests.gateway.support import catalog_of

CUBE = "CREATE CUBE c AS SELECT a, count(*) AS n FROM lake.s.t GROUP BY a"


@pytest.fixture
def services(tmp_path):
    catalog = catalog_of(tmp_path / "lake")
    catalog.create_namespace("s")
    table = pa.table({"a": [1, 2, 3]})
    made = catalog.create_table("s.t", table.schema)
    for _ in range(3):
        made.append(table)
    catalog.engine.dispose()
    with accelerator.open(str(tmp_path / "lake")) as acc:
        acc.query(CUBE)
        catalog = catalog_of(tmp_path / "lake")
        for _ in range(2):
            catalog.load_table("s.t").append(table)
        catalog.engine.dispose()
        yield acc.services


def cube(services):
    return services.store.registry(fresh=True).named("c")


def pinned(services):
    return services.lake.pin(fresh=True).pinned(("lake", "s", "t"))


def run(services, task):
    began = []
    outcome = requested_tasks.run(services, task, "ann", began.append)
    return outcome, [one.key for one in began]


def test_a_refresh_goes_on_over_its_portions(services, monkeypatch):
    told = []
    real = requested_tasks.Artifact.build

    def build(self, services, report, stop):
        made = real(self, services, report, stop)
        told.append(made)
        return made

    monkeypatch.setattr(requested_tasks.Artifact, "build", build)
    object.__setattr__(services.config, "refresh_bytes_max", 1)  # a portion for each file
    outcome, keys = run(services, requested_tasks.refresh(services, cube(services)))
    assert (outcome.done, outcome.more, outcome.error) == (2, False, None)
    assert len(told) == 2
    assert keys == [f"refresh-{cube(services).id}"]
    (entry,) = [one for _, one in RunHistory(services.store.files).newest()]
    assert (entry.by, entry.run.done) == ("ann", 2)
    # Nothing is left to do.
    outcome, keys = run(services, requested_tasks.refresh(services, cube(services)))
    assert (outcome, len(keys)) == (None, 1)


def test_what_another_process_does_is_not_begun(services):
    task = requested_tasks.refresh(services, cube(services))
    Claims(services.store.files, process="other").claim(task.key)
    assert run(services, task) == (None, [])


def test_the_other_sorts_of_work_have_keys_of_their_own(services):
    run(services, requested_tasks.refresh(services, cube(services)))
    table = pinned(services)
    for task in (
        requested_tasks.compact(services, cube(services)),
        requested_tasks.vacuum(services, table, full=True),
        requested_tasks.vacuum(services, table, full=False),
        requested_tasks.analyze(services, table),
    ):
        outcome, keys = run(services, task)
        assert keys == [task.key]
        assert outcome.error is None or outcome.error.code == "workload_empty"


def test_a_vacuum_is_stopped_where_it_is(services, monkeypatch):
    monkeypatch.setattr(requested_tasks, "_KEEP_S", 0.01)
    begun = threading.Event()

    def vacuum(*_given):
        with services.cancellation.tracked(ctrl_c=False) as tag:
            begun.set()
            while True:
                services.cancellation.check(tag)

    monkeypatch.setattr(requested_tasks, "vacuum_stored", vacuum)
    task = requested_tasks.vacuum(services, pinned(services), full=False)
    other = Claims(services.store.files, process="other", gone=lambda _: False)

    def stop():
        assert begun.wait(30)
        assert other.ask_to_stop(task.key, other.seen(task.key).epoch, "bob")

    stopping = threading.Thread(target=stop)
    stopping.start()
    outcome, _ = run(services, task)
    stopping.join()
    assert isinstance(outcome.error, CancelledError)
    (entry,) = [one for _, one in RunHistory(services.store.files).newest()]
    assert (entry.run.code, entry.run.error) == ("cancelled", "it was stopped by bob")
    # The session goes on.
    assert run(services, requested_tasks.refresh(services, cube(services)))[0].done == 2
