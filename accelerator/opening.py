"""`open` and `attach`: wire a lake, a store and a Spark source to a session."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accelerator.config import CATALOG_FILE, Config
from accelerator.context import SessionContext, time_zone
from accelerator.engines.source import SparkSource
from accelerator.errors import ConfigError
from accelerator.iceberg import CatalogSettings, Lake, ManifestCacheSettings
from accelerator.session import Accelerator
from accelerator.store import Store
from accelerator.store.files import local_path

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from accelerator.engines.session_state import SessionState
    from accelerator.engines.spark import SparkEngine


def open(  # the public word for it
    path: str | os.PathLike[str] | None = None,
    *,
    config: str | os.PathLike[str] | None = None,
    **settings: Any,
) -> Accelerator:
    """Opens the warehouse in the folder `path`, made if absent; no JVM is started.

    `config` names a TOML file; `settings` are fields of `Config` and win over it. ConfigError for a
    setting that is unknown or impossible.
    """
    if path is not None:
        settings["warehouse"] = os.fspath(path)
    return open_loaded(Config.load(config, **settings))


def open_loaded(loaded: Config) -> Accelerator:
    """The same, of settings that are known."""
    folder = _folder(loaded.warehouse)
    catalog = folder / CATALOG_FILE
    warehouse = folder.as_uri()
    lake_settings = CatalogSettings(
        loaded.catalog_name,
        "sql",
        {"uri": f"sqlite:///{catalog}", "warehouse": warehouse},
    )

    def make() -> SparkEngine:
        from accelerator.engines.spark import SparkEngine, SparkSettings

        conf = {"spark.sql.session.timeZone": time_zone(loaded), **loaded.spark_conf}
        spark = SparkSettings(
            master=loaded.spark_master, driver_memory=loaded.spark_driver_memory, conf=conf
        )
        return SparkEngine.embedded(warehouse, loaded.catalog_name, str(catalog), spark)

    source = SparkSource(make)
    context = _context(loaded, source)
    lake = Lake(
        [lake_settings],
        context.catalog,
        context.namespace,
        metadata_max_age_s=loaded.metadata_max_age_s,
        manifest_cache=_manifest_cache(loaded),
    )
    return Accelerator(loaded, lake, _store(loaded), source, context)


def attach(spark: SparkSession, **settings: Any) -> Accelerator:
    """Stands over the user's own Spark session and its Iceberg catalogs; never stops it.

    The store is `settings["store"]`, or the folder `.accelerator` where Spark's warehouse is.
    """
    from accelerator.engines.spark import SparkEngine

    engine = SparkEngine.attached(spark)
    loaded = Config.load(**settings)
    if loaded.store is None:
        raise ConfigError(
            "an attached session needs a place for its cubes",
            hint='accelerator.attach(spark, store="/path/or/uri/of/the/store")',
        )
    source = SparkSource(lambda: engine)
    source.engine()
    context = _context(loaded, source)
    lake = Lake(
        engine.catalog_settings(),
        context.catalog,
        context.namespace,
        metadata_max_age_s=loaded.metadata_max_age_s,
        manifest_cache=_manifest_cache(loaded),
        jvm_located=engine.newest_metadata,
        other_catalogs=engine.other_catalogs(),
    )
    return Accelerator(loaded, lake, _store(loaded), source, context)


def _manifest_cache(config: Config) -> ManifestCacheSettings:
    """By default beside the cubes, where these are on the local disk and may be written."""
    folder = config.manifest_cache_folder
    root = local_path(config.store_root)
    if folder is None and not config.store_read_only and "://" not in root:
        folder = f"{root}/cache/manifests"
    return ManifestCacheSettings(
        config.manifest_cache_bytes,
        None if folder is None else Path(folder),
        config.manifest_cache_folder_bytes,
    )


def _context(config: Config, source: SparkSource) -> SessionContext:
    known: dict[str, SessionState] = {}
    here = threading.local()

    def state() -> SessionState | None:
        """The running session's state; the same Java objects for its whole life."""
        if not source.started:
            known.clear()
            return None
        engine = source.engine()
        if getattr(here, "active", None) is not source:
            # Spark reads its current catalog's default under the thread's active session.
            engine.activate()
            here.active = source
        if "state" not in known:
            known["state"] = engine.state()
        return known["state"]

    return SessionContext(config, state)


def _store(config: Config) -> Store:
    return Store.open(
        config.store_root,
        options=config.store_options,
        max_age_s=config.store_max_age_s,
        read_only=config.store_read_only,
    )


def _folder(warehouse: str) -> Path:
    if "://" in warehouse and not warehouse.startswith("file://"):
        raise ConfigError(
            f"an embedded warehouse is a local folder, not {warehouse}",
            hint="for object stores attach to a Spark session: accelerator.attach(spark)",
        )
    folder = Path(warehouse.removeprefix("file://")).absolute()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(
            f"the warehouse {folder} can't be made: {error.strerror}",
            hint="choose a folder that you may write to",
        ) from error
    return folder
