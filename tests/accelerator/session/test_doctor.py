"""`accelerator doctor`: what it says of a sound session, and of what stands in the way."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import sys
from collections.abc import Iterator
from importlib.metadata import Distribution, distributions, version
from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import CliRunner
from pyiceberg.catalog.sql import SqlCatalog

import accelerator
from accelerator.cli.main import main
from accelerator.errors import UnknownTableError
from accelerator.iceberg.catalogs import pyiceberg_config
from accelerator.session import doctor, package_check


@pytest.fixture
def warehouse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    monkeypatch.setattr(doctor, "check_java", lambda: None)
    monkeypatch.setattr(doctor, "_requirements", lambda: iter(()))
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
    assert f"pandas {version('pandas')} ([spark] needs " in found["packages"][1]
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
    monkeypatch.setattr(pyiceberg_config, "find_spec", lambda _: None)
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
    other = tmp_path / "python2.7"
    other.write_text("#!/bin/sh\necho 2.7\n")
    other.chmod(0o755)
    for named, said in (
        (str(bare), "lacks what builds need"),
        ("/no/python", "can't be run"),
        (str(other), "is Python 2.7, and this is Python 3."),
    ):
        monkeypatch.setenv("PYSPARK_PYTHON", named)
        code, found = _found("--warehouse", str(warehouse))
        assert (code, found["workers"][0]) == (1, "error")
        assert said in found["workers"][1]
        assert sys.executable in found["workers"][1]
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    assert _found("--warehouse", str(warehouse))[1]["workers"][0] == "ok"


def test_a_catalog_of_another_name_and_without_a_warehouse(warehouse: Path, tmp_path: Path) -> None:
    catalog = SqlCatalog("prod", uri=f"sqlite:///{warehouse}/catalog.db", warehouse=str(tmp_path))
    catalog.create_namespace("shop")
    catalog.create_table("shop.sales", pa.schema({"store": pa.int32()}))
    catalog.close()
    settings = {"catalog_uri": f"sqlite:///{warehouse}/catalog.db", "store": str(tmp_path / "st")}
    file = tmp_path / "a.toml"
    lines = [f'{key} = "{value}"' for key, value in settings.items()]
    file.write_text("\n".join(lines))
    code, found = _found("--config", str(file))
    assert (code, found["catalog"][0]) == (1, "error")
    assert "Spark can't open the catalog lake: it has no warehouse" in found["catalog"][1]
    folder = f'[catalog_properties]\nwarehouse = "file://{tmp_path}"'
    file.write_text("\n".join([*lines, folder]))
    code, found = _found("--config", str(file))
    assert (code, found["catalog"][0]) == (0, "warning")
    assert "set catalog_name: the catalog's database has tables of prod" in found["catalog"][1]
    file.write_text("\n".join(['catalog_name = "prod"', *lines, folder]))
    assert _found("--config", str(file))[1]["catalog"] == ("ok", "the catalog prod answers ")
    # Statements say so, too, whichever sort of them; the command before it opens a session.
    asked = (
        "SELECT count(*) FROM shop.sales",
        "CREATE CUBE c AS SELECT store, count(*) FROM shop.sales GROUP BY store",
        "SHOW CUBES ON lake.shop.sales",
    )
    with accelerator.open(**settings) as acc:
        for sql in asked:
            with pytest.raises(UnknownTableError) as error:
                acc.query(sql)
            assert "set catalog_name: the catalog's database has tables of prod" in error.value.hint
        with pytest.raises(UnknownTableError) as error:
            acc.stream(asked[0])
        assert "set catalog_name" in error.value.hint
    ran = CliRunner().invoke(main, ["sql", "--warehouse", str(warehouse), asked[0]])
    assert "hint: set catalog_name: the catalog's database has tables of prod" in ran.stderr
    with accelerator.open(**settings, catalog_name="prod") as acc:
        with pytest.raises(UnknownTableError) as error:
            acc.query("SELECT count(*) FROM shop.other")
        assert "catalog_name" not in error.value.hint


@pytest.mark.parametrize(("beside", "warns"), [("3.1.1", True), ("2.3.3", False)])
def test_pandas_3_beside_pyspark(monkeypatch: pytest.MonkeyPatch, beside: str, warns: bool) -> None:
    monkeypatch.setattr(doctor, "version", lambda name: beside if name == "pandas" else "1.0")
    found = [one for one in doctor._packages() if "createDataFrame" in one.said]
    assert [one.status for one in found] == ["warning"] * warns
    assert all(f"pandas {beside} ([spark] needs " in one.said for one in found)


def test_pip_reports_versions_that_others_do_not_allow(
    warehouse: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    python = tmp_path / "python"
    conflict = "seaplane 2.1 has requirement pandas>=3, but you have pandas 2.3.3."
    python.write_text(f"#!/bin/sh\necho '{conflict}'\nexit 1\n")
    python.chmod(0o755)
    monkeypatch.setattr(doctor.sys, "executable", str(python))
    (found,) = doctor._requirements()
    assert (found.check, found.status, found.said) == ("requirements", "warning", conflict)
    for unfit in ("#!/bin/sh\necho 'No module named pip' >&2\nexit 1\n", "#!/bin/sh\nexit 0\n"):
        python.write_text(unfit)
        assert not list(doctor._requirements())


def test_another_distribution_wrote_over_ours(
    warehouse: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def installed(name: str, files: dict[str, bytes]) -> None:
        folder = tmp_path / f"{name.replace('-', '_')}-1.1.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.1\n")
        lines = []
        for path, content in files.items():
            (tmp_path / path).parent.mkdir(exist_ok=True)
            (tmp_path / path).write_bytes(content)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode()
            lines.append(f"{path},sha256={digest.rstrip('=')},{len(content)}")
        lines.append(f"{folder.name}/RECORD,,")
        (folder / "RECORD").write_text("\n".join(lines) + "\n")

    def found_by(path: list[str]) -> list[Distribution]:
        return list(distributions(path=path))

    own = {"cubes/__init__.py": b"", "cubes/cube.py": b"ours", "indexes/__init__.py": b""}
    installed("lakehouse-accelerator", own)
    monkeypatch.setattr(package_check, "distributions", lambda: found_by([str(tmp_path)]))
    monkeypatch.setattr(
        package_check,
        "distribution",
        lambda name: next(one for one in found_by([str(tmp_path)]) if one.metadata["Name"] == name),
    )
    assert package_check.faults() == []
    assert _found("--warehouse", str(warehouse))[1]["names"][0] == "ok"
    # Another distribution that was there before: ours works, and the other doesn't.
    installed("cubes", {"cubes/__init__.py": b"theirs", "cubes/slicer.py": b""})
    (tmp_path / "cubes/__init__.py").write_bytes(b"")
    code, found = _found("--warehouse", str(warehouse))
    assert (code, found["names"][0]) == (0, "warning")
    assert "cubes 1.1 has files in the same folders" in found["names"][1]
    # The other one came later.
    (tmp_path / "cubes/__init__.py").write_bytes(b"theirs")
    code, found = _found("--warehouse", str(warehouse))
    assert (code, found["names"][0]) == (1, "error")
    assert (
        "the package cubes isn't as it was installed: cubes/__init__.py differs"
        in found["names"][1]
    )
    assert "pip uninstall cubes, then pip install --force-reinstall" in found["names"][1]
    # The other one has gone, and has taken files of ours with it.
    (tmp_path / "cubes/cube.py").unlink()
    monkeypatch.setattr(package_check, "foreign", lambda: ["the package cubes is in no place"])
    ((sentence, hint),) = package_check.faults()
    assert "cubes/__init__.py differs or is gone, and so do 1 more" in sentence
    assert "pip install --force-reinstall" in hint


def test_foreign_packages_of_our_names(warehouse: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = package_check._folder
    foreign = Path("/elsewhere/rewrite")
    monkeypatch.setattr(
        package_check, "_folder", lambda n: foreign if n == "rewrite" else folder(n)
    )
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
