"""`open` and `attach`: wire a lake, a store and a Spark source to a session."""

from __future__ import annotations

import logging
import os
import tempfile
import threading
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accelerator.common.config.config import CATALOG_FILE, STORE_FOLDER, WAREHOUSE, Config
from accelerator.common.files.cache_folder import user_cache_folder
from accelerator.common.files.file_uri import other_host, path_of, uri_of
from accelerator.engines.choice import cache_folder
from accelerator.engines.session_settings import SessionContext, refusal, time_zone
from accelerator.engines.spark.catalogs.java import OWN_SCHEMA, store_packages
from accelerator.engines.spark.lazy_engine import SparkSource
from accelerator.engines.spark.session.settings import EXECUTOR_CACHE
from accelerator.errors import ConfigError
from accelerator.iceberg import CatalogSettings, Lake, ManifestCacheSettings
from accelerator.iceberg.catalogs.choose import reader_of
from accelerator.session.session import Accelerator
from accelerator.store import Store
from accelerator.store.files.s3_options import store_options_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from accelerator.engines.spark.engine import SparkEngine
    from accelerator.engines.spark.session.state import SessionState
    from accelerator.iceberg.catalogs.readers import CatalogReader


_log = logging.getLogger("accelerator")
_RESERVED = ("pruned", "spark_catalog", "system", "session")


def open(  # the public word for it
    path: str | os.PathLike[str] | None = None,
    *,
    create: bool = False,
    config: str | os.PathLike[str] | None = None,
    **settings: Any,
) -> Accelerator:
    """Opens the warehouse in the folder `path`, or a catalog; no JVM is started.

    With `create` a warehouse that isn't there is made, else ConfigError.

    `catalog_type`, `catalog_uri` and `catalog_properties` name the catalog in PyIceberg's words, or
    PyIceberg's own configuration knows one as `catalog_name`. `config` names a TOML file;
    `settings` are fields of `Config` and win over it. ConfigError for a setting that is unknown or
    impossible.
    """
    if path is not None:
        settings["warehouse"] = os.fspath(path)
    return open_loaded(Config.load(config, **settings), create=create)


def open_loaded(
    loaded: Config,
    *,
    create: bool = False,
    source: SparkSource | None = None,
    private: Sequence[str] = (),
) -> Accelerator:
    """Opens a session with these settings; Spark comes from `source`, else it is its own.

    No table's location may contain `private` files: DuckDB doesn't read it.
    """
    loaded, catalogs = _catalogs(loaded, create=create)

    def make() -> SparkEngine:
        from accelerator.engines.spark.engine import PACKAGES, SparkEngine, SparkSettings

        conf = {"spark.sql.session.timeZone": time_zone(loaded), **loaded.spark_conf}
        spark = SparkSettings(
            master=loaded.spark_master,
            driver_memory=loaded.spark_driver_memory,
            packages=(*PACKAGES, *store_packages(loaded.store_root)),
            conf=conf,
            shown=loaded.spark_output == "shown",
        )
        return SparkEngine.embedded(catalogs, spark, context.handed)

    own = source is None
    source = SparkSource(make) if source is None else source
    context = _context(loaded, source)
    if not own:
        with context.handed():
            pass  # who starts that Spark doesn't ask this session
    lake = Lake(
        catalogs,
        context.catalog,
        context.namespace,
        metadata_max_age_s=loaded.metadata_max_age_s,
        manifest_cache=_manifest_cache(loaded),
    )
    return Accelerator(loaded, lake, _store(loaded), source, context, private)


def readers_of(loaded: Config) -> dict[str, CatalogReader]:
    """The catalogs of those settings by name, for who asks only where tables' metadata is."""
    return {one.name: reader_of(one) for one in _catalogs(loaded)[1]}


def _catalogs(loaded: Config, *, create: bool = False) -> tuple[Config, list[CatalogSettings]]:
    """The session's catalogs, its own first, and the settings with the store that it implies."""
    own, others = _named(loaded)
    if own is not None:
        loaded = _with_store(loaded, own)
    return loaded, [own or _of_folder(loaded, create), *others]


def attach(spark: SparkSession, **settings: Any) -> Accelerator:
    """Stands over the user's own Spark session and its Iceberg catalogs; never stops it.

    The store is `settings["store"]`, or the folder `.accelerator` in the warehouse of Spark's
    default catalog, or of the only Iceberg catalog. ConfigError where that isn't known. A line of
    the log `accelerator` says what was found; a warning, where nothing will be accelerated.
    """
    from accelerator.engines.spark.engine import SparkEngine

    engine = SparkEngine.attached(spark)
    loaded = Config.load(**settings)
    if loaded.store is None:
        loaded = _with_store(loaded, _default_of(engine))
    source = SparkSource(lambda: engine)
    source.engine()
    context = _context(loaded, source)
    catalogs = engine.catalog_settings()
    # Asked by a context that is thrown away: what a session says now may be changed until the first
    # statement, by rules that are injected too.
    _tell(_context(loaded, source), catalogs, loaded)
    if engine.caches_deletes():
        _tell_of_cache()
    lake = Lake(
        catalogs,
        context.catalog,
        context.namespace,
        metadata_max_age_s=loaded.metadata_max_age_s,
        manifest_cache=_manifest_cache(loaded),
        jvm_located=engine.newest_metadata,
        other_catalogs=engine.other_catalogs(),
    )
    return Accelerator(loaded, lake, _store(loaded), source, context)


def _tell(context: SessionContext, catalogs: Sequence[CatalogSettings], config: Config) -> None:
    """What a session was attached to, in a line."""
    named = ", ".join(one.name for one in catalogs) or "none of Iceberg"
    refused = refusal(context.settings())
    if refused is not None:
        _log.warning(
            "nothing is accelerated while this Spark session is as it is: %s"
            " Each statement asks again; spark.conf.set changes a setting.",
            refused.detail,
        )
    _log.info(
        "attached: catalogs %s; store %s; %s; DuckDB answers in this process, Spark the rest",
        named,
        config.store_root,
        "ANSI on" if refused is None else "not accelerated",
    )


@cache
def _tell_of_cache() -> None:
    """Warns once in a process: only the owner of a session may change its settings."""
    _log.warning(
        "executor_cache: this Spark session caches equality deletes, and shows rows that they"
        " delete again once a column that they compare was widened."
        " spark.conf.set('%s', 'false') turns that off; what is answered in this process is right",
        EXECUTOR_CACHE,
    )


def _manifest_cache(config: Config) -> ManifestCacheSettings:
    """By default beside the cubes, where these are on the local disk and may be written."""
    given, beside = config.manifest_cache_folder, cache_folder(config)
    folder = beside / "manifests" if given is None and beside is not None else given
    return ManifestCacheSettings(
        config.memory().manifest_cache,
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
        copies=(_copies_folder(config), config.segment_cache_bytes),
    )


def _copies_folder(config: Config) -> Path:
    """Returns the folder for copies of an object store's segments."""
    if config.segment_cache_folder is not None:
        return Path(config.segment_cache_folder).absolute()
    try:
        return user_cache_folder() / "segments"
    except RuntimeError:  # nobody's home
        return Path(tempfile.gettempdir()) / f"accelerator-segments-{os.getuid()}"


def _named(loaded: Config) -> tuple[CatalogSettings | None, list[CatalogSettings]]:
    """The catalogs that are named: the session's own, None for its folder's, and the others."""
    if loaded.catalog_name in loaded.catalogs:
        raise ConfigError(
            f"two catalogs are named {loaded.catalog_name}",
            hint="catalog_name names the first one, the keys of catalogs the others",
        )
    for name in (loaded.catalog_name, *loaded.catalogs):
        if name in _RESERVED:
            raise ConfigError(
                f"no catalog can be named {name} here", hint="Spark has another one of that name"
            )
    own = {"type": loaded.catalog_type, "uri": loaded.catalog_uri}
    given = {key: value for key, value in own.items() if value} | dict(loaded.catalog_properties)
    elsewhere = _may_be_elsewhere(loaded)
    if not given and not loaded.catalogs and not elsewhere:
        return None, []
    from accelerator.iceberg.catalogs.pyiceberg_config import (  # slow to import
        is_configured,
        named_catalog,
    )

    others = [named_catalog(name, one) for name, one in loaded.catalogs.items()]
    if given or (elsewhere and is_configured(loaded.catalog_name)):
        return named_catalog(loaded.catalog_name, given), others
    return None, others


def _may_be_elsewhere(loaded: Config) -> bool:
    """Whether nobody has named a warehouse, and where it's looked for by default is none."""
    return loaded.warehouse == WAREHOUSE and not Path(WAREHOUSE, CATALOG_FILE).exists()


def _of_folder(loaded: Config, create: bool) -> CatalogSettings:
    """The SQLite catalog in the warehouse's folder."""
    folder = _folder(loaded.warehouse, create)
    properties = {
        "uri": f"sqlite:///{folder / CATALOG_FILE}",
        "warehouse": uri_of(folder),
        OWN_SCHEMA: "V1",
    }
    return CatalogSettings(loaded.catalog_name, "sql", properties)


def _with_store(loaded: Config, catalog: CatalogSettings) -> Config:
    """The settings with the store, by default in the catalog's warehouse, and its options."""
    root = _store_beside(catalog) if loaded.store is None else loaded.store
    options = loaded.store_options or store_options_of(root, catalog.properties)
    return loaded.model_copy(update={"store": root, "store_options": options})


def _store_beside(catalog: CatalogSettings) -> str:
    """The store in the catalog's warehouse. ConfigError where that isn't known."""
    warehouse = catalog.properties.get("warehouse", "")
    if "://" not in warehouse and not warehouse.startswith(("/", "file:/")):  # a name, or none
        raise ConfigError(
            f"where the catalog {catalog.name} has its warehouse isn't known, and so no place for"
            " cubes and indexes",
            hint='set store to a folder, e.g. store="/data/accelerator"',
        )
    return f"{warehouse.rstrip('/')}/{STORE_FOLDER}"


def _default_of(engine: SparkEngine) -> CatalogSettings:
    """The Iceberg catalog beside whose tables the store is."""
    known = {one.name: one for one in engine.catalog_settings()}
    default = engine.session.conf.get("spark.sql.defaultCatalog", "")
    if default not in known and len(known) != 1:
        named = ", ".join(sorted(known)) or "none"
        raise ConfigError(
            f"which catalog has the store isn't known: Spark's Iceberg catalogs are {named}",
            hint='accelerator.attach(spark, store="/path/or/uri/of/the/store")',
        )
    return known.get(default or "") or next(iter(known.values()))


def _folder(warehouse: str, create: bool) -> Path:
    """The folder, in which there is a catalog."""
    if "://" in path_of(warehouse) or other_host(warehouse):
        raise ConfigError(
            f"an embedded warehouse is a local folder, not {warehouse}",
            hint="name its catalog by catalog_uri, or attach to a Spark session:"
            " accelerator.attach(spark)",
        )
    folder = Path(path_of(warehouse)).absolute()
    catalog = folder / CATALOG_FILE
    if catalog.exists():
        return folder
    if not create:
        raise ConfigError(
            f"there is no warehouse in {folder}",
            hint=f"check the path; create=True (--create) makes one there, with its catalog in"
            f" {CATALOG_FILE}, and catalog_uri names a catalog elsewhere",
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        catalog.touch()
    except OSError as error:
        raise ConfigError(
            f"the warehouse {folder} can't be made: {error.strerror}",
            hint="choose a folder that you may write to",
        ) from error
    return folder
