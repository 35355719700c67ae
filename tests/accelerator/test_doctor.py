"""`accelerator doctor`: what it says of a sound session, and of what stands in the way."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

import accelerator
from accelerator import doctor, own_packages
from accelerator.cli.main import main
from accelerator.iceberg import configured


@pytest.fixture
def warehouse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    monkeypatch.setattr(doctor, "check_java", lambda: None)
    folder = tmp_path / "wh"
    accelerator.open(folder, create=True).close()
    yield folder


def _found(*arguments: str) -> tuple[int, dict[str, tuple[str, str]]]:
    """The exit code, and of each check its status with all that it says."""
    ran = CliRunner().invoke(main, ["doctor", "--json", *arguments])
    document = json.loads(ran.stdout)
    assert document["ok"] == (ran.exit_code == 0)
    assert all(one["hint"] for one in document["findings"] if one["status"] != "ok")
    return ran.exit_code, {
        one["check"]: (one["status"], f"{one['said']} {one['hint']}")
        for one in document["findings"]
    }


def test_nothing_stands_in_the_way(warehouse: Path) -> None:
    before = sorted(warehouse.rglob("*"))
    code, found = _found("--warehouse", str(warehouse))
    assert code == 0
    assert {status for status, _ in found.values()} == {"ok"}
    assert list(found) == [
        *("python", "packages", "names", "java", "workers", "settings", "ansi", "catalog"),
        *("store", "duckdb"),
    ]
    assert [one for one in warehouse.rglob("*") if one.is_file()] == [
        one for one in before if one.is_file()
    ]
    ran = CliRunner().invoke(main, ["doctor", "--warehouse", str(warehouse)])
    assert ran.exit_code == 0
    assert all(line.startswith("ok ") for line in ran.stdout.splitlines())


def test_no_java(warehouse: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    monkeypatch.setenv("JAVA_HOME", "/nonexistent")
    code, found = _found("--warehouse", str(warehouse))
    assert code == 1
    assert found["java"][0] == "error"
    assert "without it all is answered that needs no Spark" in found["java"][1]


def test_no_warehouse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in [one for one in os.environ if one.startswith("ACCELERATOR_")]:
        monkeypatch.delenv(name)
    code, found = _found()
    assert (code, found["settings"][0]) == (1, "error")
    assert "which warehouse?" in found["settings"][1]
    assert "catalog" not in found
    code, found = _found("--warehouse", str(tmp_path / "nope"))
    assert "there is no warehouse in" in found["settings"][1]
    assert not (tmp_path / "nope").exists()


def test_settings_that_stand_in_the_way(
    warehouse: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.toml"
    file.write_text(
        f'warehouse = "{warehouse}"\nstore = "/proc/nowhere"\n'
        'duckdb_spill_folder = "/nonexistent"\n'
        '[spark_conf]\n"spark.sql.ansi.enabled" = "false"\n'
        '[catalogs.far]\nuri = "http://127.0.0.1:9/"\n'
    )
    code, found = _found("--config", str(file))
    assert code == 1
    for check, said in (
        ("ansi", "nothing is accelerated"),
        ("catalog", "the catalog far at http://127.0.0.1:9/ can't be reached"),
        ("store", "/proc/nowhere"),
        ("duckdb", "duckdb_spill_folder"),
    ):
        assert found[check][0] == "error", check
        assert said in found[check][1], check
    monkeypatch.setenv("ACCELERATOR_WHAT", "1")
    assert "unknown setting" in _found("--config", str(file))[1]["settings"][1]


def test_a_client_that_is_not_installed(
    warehouse: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert warehouse
    monkeypatch.setattr(configured, "find_spec", lambda _: None)
    file = tmp_path / "accelerator.toml"
    file.write_text('catalog_uri = "thrift://h:9083"\nstore = "/tmp/store"\n')
    code, found = _found("--config", str(file))
    assert code == 1
    status, said = found["settings"]
    assert status == "error"
    assert "needs thrift, which isn't installed pip install 'pyiceberg[hive]'" in said


def test_workers_of_another_python(
    warehouse: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S "$@"\n')
    bare.chmod(0o755)
    for named, said in ((str(bare), "lacks what builds need"), ("/no/python", "can't be run")):
        monkeypatch.setenv("PYSPARK_PYTHON", named)
        code, found = _found("--warehouse", str(warehouse))
        assert (code, found["workers"][0]) == (1, "error")
        assert said in found["workers"][1]
        assert sys.executable in found["workers"][1]
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    assert _found("--warehouse", str(warehouse))[1]["workers"][0] == "ok"


def test_foreign_packages_of_our_names(warehouse: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = own_packages._folder
    foreign = Path("/elsewhere/rewrite")
    monkeypatch.setattr(own_packages, "_folder", lambda n: foreign if n == "rewrite" else folder(n))
    code, found = _found("--warehouse", str(warehouse))
    assert (code, found["names"][0]) == (1, "error")
    assert "/elsewhere/rewrite" in found["names"][1]


def test_a_full_disk_is_a_warning(warehouse: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (warehouse / ".accelerator").mkdir()
    usage = type("Usage", (), {"free": 5 << 20})
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda _: usage)
    code, found = _found("--warehouse", str(warehouse))
    assert (code, found["store"][0]) == (0, "warning")
    assert "5 MiB left" in found["store"][1]
