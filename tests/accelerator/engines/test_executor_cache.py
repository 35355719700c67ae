"""Iceberg's cache of equality deletes: off in sessions of our own, and others are told; no Java."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import accelerator
from accelerator.cli.main import main
from accelerator.engines.spark.session.settings import (
    CACHED_DELETES,
    EXECUTOR_CACHE,
    SparkSettings,
    caches_deletes,
    embedded_conf,
)
from accelerator.iceberg import CatalogSettings
from accelerator.session import doctor, opening


def conf_of(tmp_path: Path, **given: str) -> dict[str, str]:
    uri = f"sqlite:///{tmp_path / 'catalog.db'}"
    catalog = CatalogSettings("lake", "sql", {"uri": uri, "warehouse": f"file://{tmp_path}/"})
    return embedded_conf([catalog], SparkSettings(conf=given))


def test_a_session_of_our_own_caches_none(tmp_path: Path) -> None:
    assert not caches_deletes(conf_of(tmp_path))
    assert caches_deletes(conf_of(tmp_path, **{EXECUTOR_CACHE: "true"}))  # it has the last word


@pytest.mark.parametrize(
    ("given", "caches"),
    [
        ({}, True),
        ({EXECUTOR_CACHE: "true", CACHED_DELETES: "true"}, True),
        ({EXECUTOR_CACHE: "false"}, False),
        ({EXECUTOR_CACHE: " FALSE "}, False),
        ({CACHED_DELETES: "false"}, False),
        ({EXECUTOR_CACHE: "true", CACHED_DELETES: "false"}, False),
    ],
)
def test_either_setting_turns_it_off(given: dict[str, str], caches: bool) -> None:
    assert caches_deletes(given) is caches


def test_an_attached_session_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    opening._tell_of_cache.cache_clear()
    for _ in range(3):
        opening._tell_of_cache()
    (told,) = caplog.messages
    assert told.startswith("executor_cache: ")
    assert f"spark.conf.set('{EXECUTOR_CACHE}', 'false')" in told


def test_doctor_tells_of_settings_that_turn_it_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    monkeypatch.setattr(doctor, "check_java", lambda: None)
    accelerator.open(tmp_path / "wh", create=True).close()
    file = tmp_path / "a.toml"
    file.write_text(f'warehouse = "{tmp_path / "wh"}"\n[spark_conf]\n"{EXECUTOR_CACHE}" = "true"\n')
    ran = CliRunner().invoke(main, ["doctor", "--json", "--config", str(file)])
    found = {one["check"]: one for one in json.loads(ran.stdout)["findings"]}
    assert ran.exit_code == 0 and found["executor_cache"]["status"] == "warning"
    assert EXECUTOR_CACHE in found["executor_cache"]["hint"]
