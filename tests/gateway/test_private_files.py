"""No table's location makes DuckDB in a worker read a folder with the gateway's own files."""

from __future__ import annotations

from pathlib import Path

from pyiceberg.catalog.sql import SqlCatalog

from accelerator.common.config.config import Config
from accelerator.gateway.gateway import Gateway
from accelerator.gateway.settings import GatewaySettings
from accelerator.gateway.workers.sessions import Sessions


def test_workers_are_told_of_the_gateways_files(tmp_path: Path) -> None:
    files = {name: tmp_path / name / f"{name}.txt" for name in ("audit_log", "tls_key", "config")}
    for file in files.values():
        file.parent.mkdir()
        file.touch()
    settings = GatewaySettings(audit_log=str(files["audit_log"]), tls_key=str(files["tls_key"]))
    lake = tmp_path / "lake"
    catalog = SqlCatalog("lake", uri=f"sqlite:///{tmp_path}/lake.db", warehouse=lake.as_uri())
    catalog.create_namespace("d")
    config = Config(
        catalog_uri=f"sqlite:///{tmp_path}/lake.db", store=str(tmp_path / "store" / "own")
    )
    gateway = Gateway(config, settings, files["config"])
    order = gateway.pool._order(spark=False)
    assert set(map(str, files.values())) <= set(order["private"])
    sessions = Sessions(
        Config(**order["config"]), spark=False, zones_max=1, private=order["private"]
    )
    try:
        with sessions.using() as session:
            duckdb = session.services.duckdb
            for file in (*files.values(), tmp_path / "store" / "x", tmp_path / "x"):
                found = duckdb.files_of([f"file://{file.parent}"])
                assert found.refused is not None and not found.may_read(str(file)), file
            assert duckdb.files_of([str(tmp_path / "other")]).refused is None
    finally:
        sessions.close()
