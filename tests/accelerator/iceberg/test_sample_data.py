"""`accelerator sample`: the warehouse that it makes, and what it refuses."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from pyiceberg.catalog.sql import SqlCatalog

import accelerator
from accelerator.cli.main import main
from accelerator.errors import ConfigError
from accelerator.iceberg.writes import sample_data


@pytest.fixture(autouse=True)
def few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sample_data, "ROWS_A_MONTH", 300)


def test_the_sample_answers_without_a_jvm(tmp_path: Path) -> None:
    folder = tmp_path / "lake"
    ran = CliRunner().invoke(main, ["sample", str(folder), "--json"])
    assert ran.exit_code == 0
    assert json.loads(ran.stdout) == {"warehouse": str(folder), "rows": {"shop.sales": 3_600}}
    with accelerator.open(folder) as acc:
        span = "SELECT count(*), count(DISTINCT order_id), min(sold_on), max(sold_on)"
        assert acc.query(f"{span} FROM shop.sales").fetchall() == [
            (3_600, 3_600, dt.date(2024, 1, 1), dt.date(2024, 12, 31))
        ]
        total = (
            "SELECT region, category, sum(amount) AS revenue FROM shop.sales"
            " JOIN shop.stores ON sales.store = stores.store"
            " JOIN shop.products ON sales.product = products.product"
            " GROUP BY region, category ORDER BY region, category"
        )
        raw = acc.query(total).fetchall()
        assert len(raw) == 24 and all(revenue > 0 for _, _, revenue in raw)
        acc.query(f"CREATE CUBE revenue AS {total.partition(' ORDER')[0]}")
        answer = acc.query(total)
        assert (answer.fetchall(), answer.metrics.cubes) == (raw, ("revenue",))
        # Every file has ids of all sizes, so that only an index finds one.
        files = [pq.read_table(one) for one in folder.glob("shop/sales/data/*.parquet")]
        ids = [file["order_id"].to_pylist() for file in files]
        assert len(ids) == 12 and max(map(min, ids)) < min(map(max, ids))
        assert not acc.spark_started


def test_every_machine_gets_the_same_rows() -> None:
    import numpy as np

    def month() -> pa.Table:
        return sample_data._sales(1, np.random.default_rng(sample_data._SEED))

    assert month().equals(month())
    assert set(month()["sold_on"].to_pylist()) <= {dt.date(2024, 2, day) for day in range(1, 30)}


def test_what_is_there_stays(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("mine")
    for taken in (tmp_path, file):
        ran = CliRunner().invoke(main, ["sample", str(taken)])
        assert ran.exit_code == 1
        assert f"can't be made in {taken}: something is there already" in ran.stderr
    assert [*tmp_path.iterdir()] == [file] and file.read_text() == "mine"
    ran = CliRunner().invoke(main, ["sample", "/proc/nowhere/lake", "--json"])
    assert ran.exit_code == 1
    assert json.loads(ran.stdout)["error"]["code"] == "config_invalid"


@pytest.mark.parametrize("name", ["a#b", "what?x", "50%", "a%20b"])
def test_nothing_is_written_outside_the_folder(tmp_path: Path, name: str) -> None:
    ran = CliRunner().invoke(main, ["sample", str(tmp_path / name)])
    assert ran.exit_code == 1
    assert "error [config_invalid]" in ran.stderr and "no #, ? and %" in ran.stderr
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize("name", ["my lake", "größer", "a[b]*"])
def test_a_folder_of_any_other_name_has_its_tables(tmp_path: Path, name: str) -> None:
    ran = CliRunner().invoke(main, ["sample", str(tmp_path / name)])
    assert ran.exit_code == 0, ran.stderr
    assert [*tmp_path.iterdir()] == [tmp_path / name]
    assert (tmp_path / name / "shop" / "sales" / "metadata").is_dir()
    with accelerator.open(tmp_path / name) as acc:
        acc.query("CREATE CUBE c AS SELECT store, count(*) AS n FROM shop.sales GROUP BY store")
        found = acc.query("SELECT store, count(*) AS n FROM shop.sales GROUP BY store")
        assert found.metrics.cubes == ("c",)
        rows = acc.query("SELECT store FROM shop.sales WHERE amount > 20")
        assert 0 < len(rows.fetchall()) < sum(n for _, n in found)
        assert not acc.spark_started
    assert [*tmp_path.iterdir()] == [tmp_path / name]


@pytest.mark.parametrize("was_there", [False, True])
def test_an_error_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, was_there: bool
) -> None:
    folder = tmp_path / "lake"
    if was_there:
        folder.mkdir()
    created = SqlCatalog.create_table

    def create_table(self: SqlCatalog, name: str, schema: pa.Schema) -> object:
        if name == "shop.sales":
            raise OSError(28, "No space left on device")
        return created(self, name, schema)

    monkeypatch.setattr(SqlCatalog, "create_table", create_table)
    with pytest.raises(ConfigError, match="No space left on device"):
        sample_data.make_sample(folder)
    assert folder.exists() == was_there and not list(tmp_path.rglob("*.*"))
