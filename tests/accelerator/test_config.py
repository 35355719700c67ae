"""Settings: sources in order, every refusal typed, and a reference page that can't fall behind."""

from __future__ import annotations

from dataclasses import MISSING, fields
from pathlib import Path

import pytest

from accelerator.config import Config, describe
from accelerator.errors import ConfigError

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "configuration.md"


def test_later_sources_win(tmp_path):
    (tmp_path / "accelerator.toml").write_text(
        'engine = "spark"\ncatalog_name = "a"\ndialect="mysql"'
    )
    env = {"ACCELERATOR_CATALOG_NAME": "b", "ACCELERATOR_DIALECT": "duckdb", "PATH": "/bin"}
    config = Config.load(env=env, warehouse=str(tmp_path), dialect="trino", engine=None)
    assert (config.engine, config.catalog_name, config.dialect) == ("spark", "b", "trino")


def test_a_named_file_replaces_the_one_in_the_warehouse(tmp_path):
    (tmp_path / "accelerator.toml").write_text('engine = "spark"')
    (tmp_path / "other.toml").write_text('[spark_conf]\n"spark.x" = true\n"spark.y" = 8')
    for config in (
        Config.load(tmp_path / "other.toml", env={}, warehouse=str(tmp_path)),
        Config.load(env={"ACCELERATOR_CONFIG": str(tmp_path / "other.toml")}),
    ):
        assert config.engine == "auto"
        assert config.spark_conf == {"spark.x": "true", "spark.y": "8"}


def test_a_file_uri_warehouse_finds_its_file(tmp_path):
    (tmp_path / "accelerator.toml").write_text("enabled = false")
    assert not Config.load(env={}, warehouse=f"file://{tmp_path}").enabled


def test_paths_and_sizes_are_taken(tmp_path):
    env = {"ACCELERATOR_DUCKDB_BYTES_MAX": "1.5GiB", "ACCELERATOR_SPARK_CONF": '{"a": 1}'}
    config = Config.load(env=env, warehouse=tmp_path)
    assert config.duckdb_bytes_max == 3 * 2**29
    assert config.spark_conf == {"a": "1"}
    assert config.store_root == f"{tmp_path}/.accelerator"
    assert Config(store="s3://b/k").store_root == "s3://b/k"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("engine", "trino"),
        ("enabled", "maybe"),
        ("metadata_max_age_s", -1),
        ("metadata_max_age_s", "nan"),
        ("store_max_age_s", True),
        ("duckdb_threads", 1.5),
        ("duckdb_bytes_max", "2 lots"),
        ("build_files_per_job", 0),
        ("catalog_name", "a.b"),
        ("warehouse", ""),
        ("spark_conf", "[1]"),
        ("spark_conf", {"a": []}),
    ],
)
def test_a_bad_value_names_the_key_the_source_and_what_is_allowed(key, value):
    with pytest.raises(ConfigError, match=f"'{key}' in the arguments") as caught:
        Config.load(env={}, **{key: value})
    assert key in caught.value.hint


def test_unknown_keys_and_broken_files_are_refused(tmp_path):
    with pytest.raises(ConfigError, match="'enginee' in the environment") as caught:
        Config.load(env={"ACCELERATOR_ENGINEE": "duckdb"})
    assert "engine" in caught.value.hint
    broken = tmp_path / "broken.toml"
    broken.write_text("engine = ")
    with pytest.raises(ConfigError, match=r"broken\.toml"):
        Config.load(broken, env={})
    with pytest.raises(ConfigError, match="isn't there"):
        Config.load(tmp_path / "none.toml", env={})


def test_the_constructor_checks_as_well():
    with pytest.raises(ConfigError, match="engine"):
        Config(engine="trino")


def test_the_reference_page_has_every_setting():
    page = PAGE.read_text()
    for one in fields(Config):
        default = {} if one.default is MISSING else one.default
        row = f"| `{one.name}` | {describe(one)} | `{default!r}` | {one.metadata['doc']} |"
        assert row in page, f"docs/reference/configuration.md lacks this row:\n{row}"
