"""Settings: sources in order, every refusal typed, and a reference page that can't fall behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from accelerator.common.config.config import Config
from accelerator.common.config.settings import describe
from accelerator.errors import ConfigError

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "configuration.md"


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


_OUTWARD = (
    '[spark_conf]\n"spark.driver.extraJavaOptions" = "-javaagent:x.jar"',
    'store = "s3://elsewhere/store"',
    '[store_options]\naws_endpoint = "http://elsewhere"',
    'spark_master = "spark://elsewhere:7077"',
    'spark_driver_memory = "4g"',
    'manifest_cache_folder = "/etc"',
)


@pytest.mark.parametrize("text", _OUTWARD)
def test_the_file_of_a_warehouse_cant_reach_out_of_it(text, tmp_path, monkeypatch):
    lake = tmp_path / "lake"
    (lake / "d" / "t").mkdir(parents=True)
    key = text.strip("[").split("]")[0].split(" ")[0]
    for folder in (lake, lake / "d" / "t"):
        (folder / "accelerator.toml").write_text(text)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=f"'{key}' can't stand in") as caught:
        Config.load(env={}, warehouse="lake")
    assert "--config" in caught.value.hint
    for folder in (lake, lake / "d" / "t"):
        monkeypatch.chdir(folder)
        with pytest.raises(ConfigError, match=f"'{key}' can't stand in"):
            Config.load_here(env={"ACCELERATOR_WAREHOUSE": str(lake)})
    # Named by the user, it's taken wherever it is.
    assert Config.load(lake / "accelerator.toml", env={}, warehouse="x")
    assert Config.load(env={"ACCELERATOR_CONFIG": str(lake / "accelerator.toml")})


@pytest.mark.parametrize("mark", ["catalog.db", ".accelerator"])
def test_a_directory_that_looks_like_a_warehouse_is_one(mark, tmp_path, monkeypatch):
    """Whatever its file calls the warehouse."""
    (tmp_path / "accelerator.toml").write_text('warehouse = "/elsewhere"\nspark_conf = {a = "b"}')
    monkeypatch.chdir(tmp_path)
    assert Config.load_here(env={}).spark_conf == {"a": "b"}
    (tmp_path / mark).touch()
    with pytest.raises(ConfigError, match="'warehouse' can't stand in"):
        Config.load_here(env={})


def test_the_file_of_a_warehouse_cant_name_another_to_escape(tmp_path, monkeypatch):
    (tmp_path / "warehouse").mkdir()
    (tmp_path / "warehouse" / "accelerator.toml").write_text(
        'warehouse = "/elsewhere"\nstore = "/elsewhere"'
    )
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match="'warehouse' can't stand in"):
        Config.load(env={})


def test_a_file_that_is_too_deep(tmp_path):
    (tmp_path / "deep.toml").write_text("a=" + "[" * 100_000)
    with pytest.raises(ConfigError, match="can't be read as TOML"):
        Config.load(tmp_path / "deep.toml", env={})


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
        ("duckdb_threads", 1025),
        ("vacuum_delete_threads", 0),
        ("vacuum_delete_threads", 1025),
        ("duckdb_bytes_max", "9" * 400),
        ("spark_conf", "[" * 100_000),
        ("duckdb_bytes_max", "2 lots"),
        ("duckdb_memory", "rubbish"),
        ("duckdb_memory", "80%"),
        ("duckdb_memory", "1MB"),
        ("duckdb_memory", 0),
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


@pytest.mark.parametrize("name", ["CONFIGURATION", "CONFIG_FILE", "GATEWAYS", "\udcff"])
def test_a_variable_that_is_no_setting_is_named(name):
    """A name that begins as another variable's, or that is no text, isn't passed over."""
    with pytest.raises(ConfigError) as caught:
        Config.load(env={f"ACCELERATOR_{name}": "x"})
    assert f"unknown setting {name.lower()!r} in the environment" in str(caught.value)


@pytest.mark.parametrize("key", ["spark_conf", "catalogs"])
def test_bytes_of_a_variable_that_are_no_text_are_refused(key):
    with pytest.raises(ConfigError, match=f"'{key}' in the environment can't be that"):
        Config.load(env={f"ACCELERATOR_{key.upper()}": '{"a": "\udcff"}'})


def test_the_constructor_checks_as_well():
    with pytest.raises(ConfigError, match="engine"):
        Config(engine="trino")


def test_no_error_shows_a_secret():
    """Pydantic's own error for a setting that somebody sets has the value."""
    config = Config(catalog_uri="postgresql://ada:s3cret@db")
    for key in ("catalog_uri", "catalogs", "nothing"):
        with pytest.raises(AttributeError, match=f"{key!r} can't be changed") as caught:
            setattr(config, key, "postgresql://ada:s3cret@db")
        assert "s3cret" not in f"{caught.value}{config}{config!r}"


def test_the_reference_page_has_every_setting():
    page = PAGE.read_text()
    for name, one in Config.model_fields.items():
        row = f"| `{name}` | {describe(one)} | `{one.default!r}` | {one.description} |"
        assert row in page, f"docs/reference/configuration.md lacks this row:\n{row}"
