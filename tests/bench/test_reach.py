"""Lost statements between two recordings, and declines that the bench has to notice."""

from __future__ import annotations

import json
import subprocess
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

import accelerator
import accelerator.planning.candidates.search
from accelerator.common.statement_metrics import Metrics
from accelerator.errors import AcceleratorError
from bench.__main__ import main
from bench.reach import run as reach
from bench.reach.checkout import ROOT, CheckoutError, commit_id, files_of
from bench.reach.compare import AllowanceError, compare, read_allowances
from bench.reach.recorder import Outcome, Places, failure, of_metrics, outcome_of, suite_files
from bench.ssb.cubes import CUBES
from bench.ssb.queries import QUERIES
from tests.gateway.clients.ssb_lake import filled

SQL = "SELECT count(*) FROM lake.d.t"


def _by(by: str, code: str = "", **more: Any) -> dict[str, Any]:
    fields = {"source": "statements", "suite": "traps", "statement": SQL, "state": "made"}
    return asdict(Outcome(**(fields | {"by": by, "code": code} | more)))


@pytest.mark.parametrize(
    ("before", "now", "kind"),
    [
        (_by("cube"), _by("plain", "may_raise"), "lost"),
        (_by("manifest"), _by("refused", "table_unreadable"), "lost"),
        (_by("index"), _by("error", "DIVIDE_BY_ZERO"), "lost"),
        (_by("metadata"), _by("refused", "dialect_untranslated"), "lost"),
        (_by("cube", spark=True), _by("plain", "may_raise"), "lost"),
        (
            _by("rows", "cubes_none"),
            _by("rows", "cubes_none", spark=True),
            "lost",
        ),
        (_by("cube"), _by("rows", spark=True), "lost"),
        (_by("rows", spark=True), _by("rows", spark=True), ""),
        (_by("cube"), _by("cube", spark=True), "changed"),
        (_by("cube"), _by("rows", "dearer"), "changed"),
        (_by("plain", "may_raise"), _by("rows", "cubes_none"), "gained"),
        (_by("error", "ANY"), _by("manifest"), "gained"),
        (
            _by("plain", "may_raise"),
            _by("plain", "cubes_none"),
            "reasons_changed",
        ),
        (_by("plain", "may_raise"), _by("refused", "may_raise"), "changed"),
        (_by("cube"), _by("cube"), ""),
    ],
)
def test_what_is_lost(before: dict[str, Any], now: dict[str, Any], kind: str) -> None:
    found = compare([before], [now])
    kinds = ("lost", "gained", "changed", "reasons_changed")
    assert [one for one in kinds if getattr(found, one)] == ([kind] if kind else [])
    if kind:
        (one,) = getattr(found, kind)
        assert one["statement"] == SQL and one["state"] == "made"
        assert one["after"].startswith(now["by"]) and one["reason"] == now["code"]


def test_states_and_repeated_texts_are_statements_of_their_own() -> None:
    before = [_by("cube"), _by("cube"), _by("cube", state="changed")]
    now = [_by("cube"), _by("plain", "x"), _by("cube", state="changed")]
    assert compare(before, now).counts()["lost"] == 1
    assert compare(before, before).counts() | {"lost": 0, "statements": 3, "share_now": 1.0} == (
        compare(before, before).counts()
    )


def test_a_statement_that_isnt_asked_any_more_is_lost() -> None:
    found = compare([_by("cube"), _by("plain", "x", state="changed")], [])
    assert [one["after"] for one in found.lost] == ["missing"]
    assert len(found.missing) == 2 and found.counts()["answered_now"] == 0


def test_new_statements_are_counted_apart() -> None:
    old, new = _by("cube"), _by("plain", "x", statement="SELECT 1", own=True)
    same = _by("cube", own=True)  # an unchanged line of a suite that has changed
    counts = compare([old], [old, new, same]).counts()
    assert (counts["new"], counts["lost"], counts["statements"]) == (1, 0, 1)


def test_only_a_counter_example_explains_a_loss(tmp_path: Path) -> None:
    file = tmp_path / "allowed.toml"
    entry = '[[statement]]\nsuite = "traps"\nsql = "SELECT  count(*)\\nFROM lake.d.t"\n'
    file.write_text(entry + 'states = ["made"]\ncounter_example = "two rows of NULL"\n')
    before = [_by("cube"), _by("cube", state="changed")]
    now = [_by("plain", "x"), _by("plain", "x", state="changed")]
    found = compare(before, now, read_allowances(file))
    assert found.counts()["lost"] == 2
    assert [one["state"] for one in found.unexplained] == ["changed"]
    assert found.lost[0]["counter_example"] == "two rows of NULL"
    file.write_text(entry)
    with pytest.raises(AllowanceError, match=r"statement 1 of .* lacks counter_example"):
        read_allowances(file)
    with pytest.raises(AllowanceError, match="can't be read"):
        read_allowances(tmp_path / "none.toml")


def test_the_projects_own_file_of_allowed_losses() -> None:
    for entry in read_allowances(reach.ALLOWED):
        assert entry.statement and entry.counter_example


def test_outcomes_by_an_answers_figures() -> None:
    one = of_metrics(
        Metrics(rewritten=True, files_read=2, all_rows="cubes_none: No cube."), "duckdb"
    )
    assert one == {"by": "rows", "code": "cubes_none", "spark": False}
    assert of_metrics(Metrics(rewritten=True), "duckdb")["by"] == "manifest"
    assert of_metrics(Metrics(rewritten=True, files_read=1), "spark") == {
        "by": "rows",
        "spark": True,
    }
    assert of_metrics(Metrics(rewritten=True, indexes=("i",)), "duckdb")["by"] == "index"
    assert of_metrics(Metrics(fallback="may_raise: A sum."), "spark")["code"] == "may_raise"
    assert failure(AcceleratorError("no"))["by"] == "refused"
    assert failure(ZeroDivisionError()) == {"by": "error", "code": "ZeroDivisionError"}


# --- planted losses

_FIRST = QUERIES[:4]
"""Of two flights, for which two cubes are enough."""


def _recorded(root: Path) -> list[dict[str, Any]]:
    """Records SSB's first queries by a session of its own."""
    with accelerator.open(root) as session:
        found = [(q.sql(), outcome_of(session, q.sql())) for q in _FIRST]
    return [asdict(Outcome("ssb", "ssb", sql, "cubes", **one)) for sql, one in found]


def test_a_planted_decline_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = filled(tmp_path / "lake")
    with accelerator.open(root) as session:
        for cube in CUBES[:2]:
            session.query(cube.create())
    before = _recorded(root)
    assert [one["by"] for one in before] == ["cube"] * len(_FIRST)
    counts = compare(before, _recorded(root)).counts()
    assert (counts["lost"], counts["changed"], counts["share_now"]) == (0, 0, 1.0)

    usual = accelerator.planning.candidates.search.bind_block

    def declining(tree: Any, *rest: Any, **more: Any) -> Any:
        if "lo_discount" in tree.sql():
            raise accelerator.planning.candidates.search.DeclinedError("may_raise", "Planted.")
        return usual(tree, *rest, **more)

    monkeypatch.setattr(accelerator.planning.candidates.search, "bind_block", declining)
    found = compare(before, _recorded(root))
    planted = [q.sql() for q in _FIRST if "lo_discount" in q.sql()]
    assert 0 < len(planted) < len(_FIRST)
    assert [one["statement"] for one in found.lost] == planted
    assert {(one["before"], one["after"]) for one in found.lost} == {("cube", "plain may_raise")}
    assert found.counts()["lost_unexplained"] == len(planted)


# --- the earlier commit's files


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """One with a commit and a change after it."""
    root = tmp_path / "repository"
    root.mkdir()
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(root)]
    (root / "f.txt").write_text("old")
    for words in (["init", "-q"], ["add", "f.txt"], ["commit", "-qm", "one"]):
        subprocess.run([*git, *words], check=True)
    (root / "f.txt").write_text("new")
    return root


def test_the_commits_files_go_when_the_bench_is_interrupted(repository: Path) -> None:
    seen: list[Path] = []
    with (
        pytest.raises(KeyboardInterrupt),
        files_of(commit_id("HEAD", repository), repository) as at,
    ):
        seen.append(at)
        assert (at / "f.txt").read_text() == "old"
        raise KeyboardInterrupt
    assert not seen[0].exists()
    state = subprocess.run(
        ["git", "-C", str(repository), "worktree", "list"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert len(state.stdout.splitlines()) == 1
    with pytest.raises(CheckoutError, match="there is no such commit"):
        commit_id("nonsense", repository)


def test_an_unchanged_suite_is_asked_once(tmp_path: Path) -> None:
    """Only suites that differ, or whose world does, are asked in this tree's version as well."""
    base = tmp_path / "base"
    for name in ("statements", "worlds"):
        (base / "tests" / name).mkdir(parents=True)
        for path in (ROOT / "tests" / name).iterdir():
            if path.is_file():
                (base / "tests" / name / path.name).write_bytes(path.read_bytes())
    given = Places(ROOT, base, tmp_path, tmp_path, ())
    assert not [path for path, own in suite_files(given) if own]
    (base / "tests" / "statements" / "decimals.slt").unlink()
    (base / "tests" / "worlds" / "texts.sql").write_text("-- state made\n")
    own = {path.stem for path, own in suite_files(given) if own}
    assert "decimals" in own and "terms_indexes" in own and "traps" not in own
    one = Places(ROOT, base, tmp_path, tmp_path, ("statements/traps",))
    assert [path.stem for path, _ in suite_files(one)] == ["traps"]


def test_wrong_arguments_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    told = ["reach", "--json", str(tmp_path / "f.json"), "--before"]
    assert main([*told, "HEAD", "--only", "nonsense"]) == 2
    assert main([*told, "nonsense"]) == 2
    assert "there is no such commit" in " ".join(capsys.readouterr().out.split())


_SLEEPS = """
import pathlib, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
pathlib.Path("child").write_text(str(child.pid))
print('@reach {"done": 3, "total": 9, "source": "ssb"}', flush=True)
time.sleep(60)
"""


@pytest.mark.served
def test_a_recorder_ends_with_its_children(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "recorder.py"
    script.write_text(_SLEEPS)
    monkeypatch.setattr(reach, "_RECORDER", script)
    side = reach.Side("now", ROOT, ROOT)
    with (tmp_path / "log").open("wb") as log:
        side.start(tmp_path, tmp_path, [], log)
        try:
            until = time.monotonic() + 60
            while not side.done and time.monotonic() < until:
                time.sleep(0.05)
            assert (side.done, side.total, side.source, side.runs) == (3, 9, "ssb", True)
        finally:
            side.stop()
    child = Path(f"/proc/{(tmp_path / 'now' / 'child').read_text()}/stat")
    while _runs(child) and time.monotonic() < until:
        time.sleep(0.05)
    assert not _runs(child)


def _runs(stat: Path) -> bool:
    """Whether the process is there and no zombie."""
    try:
        return stat.read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.served
def test_a_recorder_that_fails_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "recorder.py"
    script.write_text("import sys\nprint('it broke', file=sys.stderr)\nsys.exit(3)\n")
    monkeypatch.setattr(reach, "_RECORDER", script)
    monkeypatch.setattr(reach, "_LOG", tmp_path / "log")
    side = reach.Side("before", ROOT, ROOT)
    with (tmp_path / "log").open("wb") as log:
        side.start(tmp_path, tmp_path, [], log)
        with pytest.raises(reach.RecorderError, match="it broke"):
            reach._wait([side], lambda _side: None)
        side.stop()


@pytest.mark.spark
@pytest.mark.long
def test_the_command_over_the_same_commit_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    """Both recorders run as processes; the working tree may have changes that aren't committed."""
    monkeypatch.chdir(tmp_path)
    target = tmp_path / "f.json"
    code = main(
        [
            "reach",
            "--before",
            "HEAD",
            "--only",
            "ssb,gateway,statements/names",
            "--json",
            str(target),
        ]
    )
    found = json.loads(target.read_text())
    assert code == 0 and found["figures"]["lost"] == 0, capsys.readouterr().out
    assert found["details"]["lost_statements"] == []
    assert found["figures"]["missing"] == 0
    sources = found["details"]["sources"]
    assert sources["ssb"]["statements"] == 2 * len(QUERIES) == sources["ssb"]["answered_now"]
    assert sources["gateway"]["statements"] > 400 and sources["statements"]["statements"] > 20
