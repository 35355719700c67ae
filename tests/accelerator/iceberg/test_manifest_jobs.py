"""Manifests decoded by jobs: when, what comes back, and what happens to what is kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import IntegerType, NestedField, StringType

import accelerator
from accelerator.iceberg import CatalogSettings, Lake, PinnedTable
from accelerator.iceberg.io import inputs_for
from accelerator.iceberg.manifests.columns import (
    TYPES,
    InMemory,
    ManifestColumns,
    stats_struct,
)
from accelerator.iceberg.manifests.job import (
    KEPT,
    Decoding,
    JobFailedError,
    JobRule,
    ManifestJobs,
    split,
)
from accelerator.iceberg.manifests.manifest_file import ManifestFile
from accelerator.iceberg.manifests.request import Question
from accelerator.iceberg.pruning.manifest_task import ManifestQuestion, from_bytes, survivors
from accelerator.iceberg.pruning.predicates import judge
from accelerator.iceberg.tables.partition_specs import PartitionColumn
from rewrite.facts import At
from rewrite.ir.expr import Call, Column, Expr, Literal
from tests.accelerator.iceberg.jobs import LocalJobs
from tests.support.pristine import properties_of

K, G = Column(0, 1, "k", "int"), Column(0, 2, "g", "string")
SCHEMA = Schema(NestedField(1, "k", IntegerType()), NestedField(2, "g", StringType()))
SPEC = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "g"))


def _call(op: str, column: Column, value: str, type_: str = "int") -> Expr:
    return Call(op, (column, Literal(value, type_)), "boolean")


@pytest.fixture(params=[SPEC, PartitionSpec()], ids=["partitioned", "plain"], scope="module")
def settings(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> CatalogSettings:
    """A catalog with a table of six manifests, which tests only read."""
    properties = properties_of(tmp_path_factory.mktemp("lake"))
    catalog = SqlCatalog("lake", **properties)
    catalog.create_namespace("d")
    table = catalog.create_table("d.t", SCHEMA, partition_spec=request.param)
    for first in range(0, 60, 10):
        ks = range(first, first + 10)
        gs = [None if k % 7 == 0 else f"g{k % 2}" for k in ks]
        kind = pa.schema([("k", pa.int32()), ("g", pa.string())])
        table.append(pa.table({"k": list(ks), "g": gs}, kind))
    return CatalogSettings("lake", "sql", properties)


def _lake(settings: CatalogSettings, jobs: LocalJobs) -> Lake:
    lake = Lake([settings], "lake", lambda: ("d",))
    lake.use_jobs(ManifestJobs(JobRule("always"), jobs))
    return lake


def _pinned(lake: Lake) -> PinnedTable:
    found = lake.pin().pinned(("t",), At())
    assert found is not None
    return found


QUESTIONS = (
    Question.of([_call(">=", K, "35")], [G]),
    Question.of([_call("=", K, "17")], []),
    Question.of([_call("=", G, "g1", "string"), _call("<", K, "12")], []),
    Question.of([Call("is_null", (G,), "boolean")], [K]),
    Question.of([_call(">", K, "1000")], [G]),
    Question.of([Literal("false", "boolean")], []),
    Question.of([], [K, G]),
)


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_job_leaves_what_is_kept_here(settings: CatalogSettings, question: Question) -> None:
    full = _pinned(Lake([settings], "lake", lambda: ("d",))).statistics()
    jobs = LocalJobs()
    lake = _lake(settings, jobs)
    pinned = _pinned(lake)
    found, decoding = pinned.statistics_for(question)
    kept = ~judge(question.conjuncts, full).none_true
    expected = full.source.live(kept)
    assert found.source.live(np.ones(len(found), dtype=bool)) == expected
    assert len(found) + found.left_out == len(full)
    assert (decoding.by, decoding.manifests, decoding.left) == ("spark", 6, len(expected))
    assert decoding.tasks == jobs.ran[0] > 1
    for key in question.columns:
        mine, theirs = found.column(*key), full.column(*key)
        mask = pa.array(kept)
        assert mine.bounds.lower.equals(theirs.bounds.lower.filter(mask))
        assert mine.bounds.upper.equals(theirs.bounds.upper.filter(mask))
        assert mine.bounds.nulls.tolist() == theirs.bounds.nulls[kept].tolist()
        assert mine.fixed.tolist() == theirs.fixed[kept].tolist()
        assert mine.tight.tolist() == theirs.tight[kept].tolist()
    # What is of one predicate is kept nowhere.
    assert lake.manifest_bytes.manifests == lake.manifest_bytes.states == 0
    assert len(pinned.statistics()) == len(full)
    assert pinned.statistics_for(question)[1] == KEPT


def test_kept_manifests_are_judged_here_alike(settings: CatalogSettings) -> None:
    pinned = _pinned(_lake(settings, LocalJobs()))
    assert pinned.snapshot is not None
    inputs = inputs_for(pinned.metadata_location, {})
    for one in pinned._listings.manifests(inputs, pinned.snapshot)[:4]:
        pinned._manifest_columns(one)
    question = Question.of([_call(">=", K, "25")], [])
    found, decoding = pinned.statistics_for(question)
    full = pinned.statistics()
    kept = ~judge(question.conjuncts, full).none_true
    assert found.source.live(found.rows >= 0) == full.source.live(kept)
    assert (decoding.by, decoding.manifests) == ("spark", 2)
    assert found.left_out == int((~kept).sum())


def test_a_failed_job_is_made_up_for_here(settings: CatalogSettings) -> None:
    lake = _lake(settings, LocalJobs(broken="no worker"))
    found, decoding = _pinned(lake).statistics_for(QUESTIONS[0])
    assert (decoding.by, decoding.failed) == ("here", "no worker")
    assert found.left_out == 0
    assert len(found) == len(_pinned(lake).statistics())


def test_a_worker_with_another_release_refuses(
    settings: CatalogSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Elsewhere(LocalJobs):
        def run(self, task: Any, items: Any) -> Any:
            with monkeypatch.context() as there:
                there.setattr("accelerator.iceberg.pruning.manifest_task.VERSION", "0.0.0")
                try:
                    return super().run(task, items)
                except accelerator.AcceleratorError as error:
                    raise JobFailedError(str(error)) from error

    decoding = _pinned(_lake(settings, Elsewhere())).statistics_for(QUESTIONS[0])[1]
    assert decoding.by == "here"
    assert "release 0.0.0" in str(decoding.failed)


def test_an_answer_that_is_damaged_or_lacks_something_is_none(settings: CatalogSettings) -> None:
    class Odd(LocalJobs):
        answer: Any = None

        def run(self, task: Any, items: Any) -> Any:
            return self.answer(super().run(task, items))

    jobs = Odd()
    for answer in (
        lambda given: given[:-1],
        lambda given: [one[:-1] for one in given],
        lambda given: [[data[:40] for data in one] for one in given],
    ):
        jobs.answer = answer
        decoding = _pinned(_lake(settings, jobs)).statistics_for(QUESTIONS[0])[1]
        assert (decoding.by, bool(decoding.failed)) == ("here", True)
    with pytest.raises(JobFailedError):
        from_bytes(b"", frozenset())


def _manifest(name: str, size: int, files: int = 1000) -> ManifestFile:
    return ManifestFile(
        name,
        size,
        0,
        sequence_number=1,
        added_snapshot_id=1,
        added_files_count=files,
        existing_files_count=0,
        deleted_files_count=0,
    )


def test_tasks_have_alike_many_bytes_and_all_workers_have_one() -> None:
    listed = [_manifest(f"m{n}", 1 << 20) for n in range(64)]
    parts = split(listed, 2)
    assert [m for part in parts for m in part] == listed
    assert [len(part) for part in parts] == [8] * 8
    assert [len(part) for part in split(listed[:8], 4)] == [2] * 4
    assert [len(part) for part in split([_manifest("m", 1 << 30), *listed[:2]], 1)] == [1, 2]


MANY = [_manifest(f"m{n}", 8 << 20, 4000) for n in range(64)]


@pytest.mark.parametrize(
    ("way", "jobs", "manifests", "by", "why"),
    [
        ("never", LocalJobs(64), MANY, "here", "never"),
        ("auto", LocalJobs(64), MANY, "spark", "64 workers"),
        ("auto", LocalJobs(64, running=False), MANY, "here", "no Spark session"),
        ("auto", LocalJobs(2), MANY, "here", "2 workers"),
        ("auto", LocalJobs(64), MANY[:3], "here", "manifest_jobs_bytes_min"),
        ("auto", None, MANY, "here", "never"),
        ("always", LocalJobs(1, running=False), MANY[:1], "spark", "always"),
        ("always", LocalJobs(), [], "cache", "kept"),
    ],
)
def test_where_manifests_are_decoded(
    way: str, jobs: LocalJobs | None, manifests: list[ManifestFile], by: str, why: str
) -> None:
    found = ManifestJobs(JobRule(way), jobs).choose("u", manifests, QUESTIONS[0])
    assert found.by == by
    assert why in found.why


def test_many_entries_that_all_come_back_are_decoded_here() -> None:
    found = Decoding("here", "", bytes=1 << 30, entries=10_000_000)
    rule = JobRule("auto")
    assert rule.weigh(found, QUESTIONS[0], 16, 0)[0]
    assert not rule.weigh(found, QUESTIONS[-1], 16, 0)[0]


def test_jobs_end_once_they_have_taken_what_decoding_here_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    jobs = ManifestJobs(JobRule("auto"), LocalJobs(64))

    def task(manifests: Any) -> list[bytes]:
        now[0] += 1
        return [b""] * len(manifests)

    monkeypatch.setattr(LocalJobs, "run", lambda _self, task, items: [task(i) for i in items])
    ways = []
    for _ in range(4):
        chosen = jobs.choose("u", MANY, QUESTIONS[0])
        ways.append(chosen.by)
        if chosen.by == "spark":
            jobs.run("u", task, MANY)
    # 512 MB take 20 s here; a job of 64 tasks takes 64 s of this clock.
    assert ways == ["spark", "here", "spark", "here"]
    assert jobs.choose("another", MANY, QUESTIONS[0]).by == "spark"


@pytest.mark.parametrize(("day", "left"), [(8, []), (5, [0, 1])])
def test_a_manifest_that_contradicts_itself_keeps_all_files(day: int, left: list[int]) -> None:
    bounds = [n.to_bytes(4, "little") for n in (7, 8)], [n.to_bytes(4, "little") for n in (9, 8)]
    counts, nulls = pa.array([10, 10]), pa.array([0, 0])
    made = {name: pa.nulls(2, type_) for name, type_ in TYPES.items()}
    made["path"] = pa.array(["a", "b"])
    made["record_count"] = made["size_bytes"] = counts
    made["partition"] = pa.StructArray.from_arrays([pa.array([day, 8], pa.int32())], ["1000"])
    made["stats.1"] = stats_struct([counts, nulls, pa.nulls(2), *map(pa.array, bounds)])
    question = Question.of([_call("=", K, "100")], [])
    asked = ManifestQuestion(
        "", "", {}, {0: {1: PartitionColumn(1000)}}, {}, frozenset(), frozenset(), question
    )
    columns = ManifestColumns(2, (1,), InMemory(made))
    found = survivors(asked, _manifest("m", 1), columns)
    assert found.columns.path.to_pylist() == ["ab"[place] for place in left]
    assert found.total == 2
