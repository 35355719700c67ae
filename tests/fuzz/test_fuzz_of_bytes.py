"""The fuzz of bytes, in small: a few inputs of each format, and whether faults would be noticed."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest

from fuzz.bytes.formats import FORMATS
from fuzz.bytes.json_mutations import damaged_json
from fuzz.bytes.kinds import Tally, damaged_input
from fuzz.bytes.mutations import damaged, varint
from fuzz.bytes.run import Run, main
from fuzz.bytes.trying import Tried
from fuzz.bytes.workers import Done, Part, Worker, finished
from tests.fuzz import faulty_formats

pytestmark = pytest.mark.served

INPUTS = 20


def test_a_few_inputs_of_each_format(tmp_path: Path) -> None:
    said: list[str] = []
    run = Run(list(FORMATS), 20, said.append, tmp_path)
    run.run(120, 1, INPUTS)
    assert not run.failed, "\n".join(said)
    figures = run.figures()
    assert figures["formats"] == len(FORMATS) >= 12
    assert figures["inputs"] == INPUTS * len(FORMATS)
    assert figures["mutated_accepted"] > 0
    assert {one: figures[one] for one in ("crashes", "hangs", "wrong", "errors")} == {
        **dict.fromkeys(("crashes", "hangs", "wrong", "errors"), 0)
    }


def _worked(name: str, folder: Path, count: int = 40) -> list[Done]:
    """What a worker tells of some inputs; another one goes on behind an input that killed it."""
    worker, found, first = Worker(folder, "tests.fuzz.faulty_formats", 0.5), list[Done](), 0
    try:
        while first < count:
            worker.start(Part(name, 3, first, count - first, 60))
            done: list[Done] = []
            while not done:
                done = [one for _, one in finished([worker])]
            found += done
            first = done[0].next
    finally:
        worker.close()
    return found


@pytest.mark.parametrize(
    ("name", "kind", "word"),
    [
        ("crashing", "crash", "Abort"),
        ("hanging", "hang", "_hanging"),
        ("hungry", "error", "MemoryError"),
        ("lying", "wrong", "fewer than none"),
        ("untyped", "error", "IndexError"),
        ("sealed", "wrong", "checksums are old"),
    ],
)
def test_a_fault_is_told_with_its_input(name: str, kind: str, word: str, tmp_path: Path) -> None:
    count = 12 if kind == "hang" else 40
    done = _worked(name, tmp_path, count)
    tally = Tally()
    for one in done:
        tally.add(one.tally)
    failures = [failure for one in done for failure in one.failures]
    assert tally.inputs == count
    assert tally.faults[kind] == len(failures) > 0
    for one in failures:
        assert one["kind"] == kind and word in one["error"], one["error"]
        sound = faulty_formats.FORMATS[name].samples()
        made = damaged_input(faulty_formats.FORMATS[name], sound, 3, one["number"])
        line, _, data = Path(one["input"]).read_bytes().partition(b"\n")
        assert data == made.input.data and json.loads(line)["format"] == name
    if kind in ("crash", "hang"):  # each by a process of its own, and the rest by the last
        assert all(len(made.input.data) < 40 for made in _damaged(name, failures))


def _damaged(name: str, failures: list[dict]) -> list:
    tried = Tried(faulty_formats.FORMATS[name])
    return [tried.input(3, one["number"]) for one in failures]


def test_what_is_refused_is_no_fault(tmp_path: Path) -> None:
    (done,) = _worked("refusing", tmp_path)
    assert not done.failures and done.tally["refused"] > 30
    assert done.tally["errors"] == {"ValueError": done.tally["refused"]}


@pytest.mark.parametrize("name", ["bounds", "relate property", "cube definition"])
def test_an_input_is_made_again_from_its_seed_and_number(name: str) -> None:
    tried = Tried(FORMATS[name])
    made = [repr(tried.input(8, number)) for number in range(30)]
    assert made == [repr(tried.input(8, number)) for number in range(30)]
    assert made != [repr(tried.input(9, number)) for number in range(30)]
    assert len(set(made)) > 20


def test_damage_changes_bytes_and_values() -> None:
    r, sound = Random(1), bytes(range(200))
    changed = [damaged(r, sound, (sound[::-1],))[0] for _ in range(300)]
    assert len(set(changed)) > 250
    assert {len(one) > len(sound) for one in changed} == {True, False}
    assert varint(-1) == b"\x01" and varint(64) == b"\x80\x01" and len(varint(2**63)) == 10
    value = {"a": [1, {"b": "c"}], "d": 2.5}
    values = {repr(damaged_json(r, value)) for _ in range(300)}
    assert len(values) > 100 and value == {"a": [1, {"b": "c"}], "d": 2.5}


def test_the_command_says_what_it_found(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    target = tmp_path / "f.json"
    told = ["--minutes", "0.02", "--only", "leases", "--seed", "5", "--json", str(target)]
    assert main([*told, "--jobs", "1"]) == 0
    found = json.loads(target.read_text())
    assert set(found) >= {"inputs", "formats", "by_format", "mutated_accepted", "failures"}
    assert found["crashes"] == found["hangs"] == found["wrong"] == 0 < found["inputs"]
    assert found["by_format"]["leases"]["accepted"] > 0
    assert main(["--only", "leases", "--seed", "5", "--number", "3"]) == 0
    assert "sample" in capsys.readouterr().out
