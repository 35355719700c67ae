"""All settings, as one frozen dataclass: from a TOML file, then the environment, then arguments.

The later source wins. An unknown key or a value that a setting can't have is a `ConfigError` that
names the key, its source and what is allowed. `docs/reference/configuration.md` lists the same.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from accelerator.common.config.fields import check_all, from_file, parsed, setting
from accelerator.common.config.memory_budget import MemoryBudget, shared_out
from accelerator.common.file_uri import path_of
from accelerator.errors import ConfigError
from rewrite.client import DIALECTS

FILE_NAME = "accelerator.toml"
CATALOG_FILE = "catalog.db"
"""The embedded catalog, in its warehouse."""
WAREHOUSE = "warehouse"
"""The folder of the warehouse, where none is named."""
STORE_FOLDER = ".accelerator"
"""The store of a warehouse, where none is named."""
ENV_PREFIX = "ACCELERATOR_"
ENV_FILE = "ACCELERATOR_CONFIG"
GATEWAY = "gateway"
"""The table of the file that has the gateway's settings (`gateway/settings.py`)."""
GATEWAY_PREFIX = f"{ENV_PREFIX}GATEWAY_"
_PAGE = "configuration.md"

_GIB = 1024**3


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Every setting of a session; each one's meaning stands beside it."""

    warehouse: str = setting(
        WAREHOUSE,
        "Folder or URI of the Iceberg warehouse of an embedded session.",
        kind="text",
        reaches_out=True,
    )
    catalog_name: str = setting(
        "lake", "Name of the embedded catalog in Spark and in table names.", kind="name"
    )
    catalog_type: str | None = setting(
        None,
        "Sort of the catalog where it isn't the warehouse folder's own: `sql`, `rest`, `hive` or"
        " `glue`; by default what `catalog_uri` looks like.",
        kind="choice or none",
        choices=("sql", "rest", "hive", "glue"),
        reaches_out=True,
    )
    catalog_uri: str | None = setting(
        None,
        "Address of the catalog, in PyIceberg's words, e.g. `sqlite:////data/catalog.db`,"
        " `postgresql+psycopg2://…` or `https://…`.",
        kind="text or none",
        reaches_out=True,
        secret=True,
    )
    catalog_properties: Mapping[str, str] = setting(
        {},
        "Further properties of the catalog, in PyIceberg's names, e.g. `warehouse`, `credential`"
        " or `s3.endpoint`.",
        kind="mapping",
        reaches_out=True,
    )
    catalogs: Mapping[str, Mapping[str, str]] = setting(
        {},
        "Further catalogs by name, each with its properties, `type` and `uri` among them.",
        kind="mappings",
        reaches_out=True,
    )
    store: str | None = setting(
        None,
        "Root of the store: a path, `file:`, `s3:`, `gs:` or `az:` URI. "
        "By default `.accelerator` in the warehouse, where that is known.",
        kind="text or none",
        reaches_out=True,
    )
    store_options: Mapping[str, str] = setting(
        {},
        "Options of the object store, in obstore's names, e.g. `aws_endpoint`. "
        "Credentials are better left to the environment.",
        kind="mapping",
        reaches_out=True,
    )
    store_read_only: bool = setting(
        False, "Answer from cubes but never build, merge or drop any.", kind="switch"
    )
    enabled: bool = setting(
        True, "Off: every statement runs as it is, in plain Spark.", kind="switch"
    )
    dialect: str = setting(
        "spark", "Dialect that queries are written in.", kind="choice", choices=DIALECTS
    )
    metadata_max_age_s: float = setting(
        0.0,
        "How old, in seconds, a table's metadata pointer may be. 0: each query asks the catalog.",
        kind="seconds",
    )
    store_max_age_s: float = setting(
        0.0,
        "How old, in seconds, our knowledge of cubes and segments may be. 0: each query checks.",
        kind="seconds",
    )
    engine: str = setting(
        "auto",
        "Engine of `query`: the cheaper one by bytes left to read, or always the named one.",
        kind="choice",
        choices=("auto", "duckdb", "spark"),
    )
    timeout_s: float = setting(
        0.0,
        "Seconds that a query may take, whichever engine answers; then it's stopped, with an error."
        " 0: as long as it needs.",
        kind="seconds",
    )
    duckdb_bytes_max: int = setting(
        0,
        "With engine `auto`, what is larger than this to read, or to give, goes to Spark. 0: DuckDB"
        " reads what it should be done with first, and gives up to 2 GiB.",
        kind="bytes",
    )
    memory_bytes_max: int = setting(
        0,
        "What statements in process may hold in memory together: DuckDB's limit, rows as Arrow,"
        " large answers and the two caches below, each within its share. What doesn't fit spills,"
        " or goes to Spark. 0: 70 % of the machine's, or of what a container may have.",
        kind="bytes",
    )
    duckdb_threads: int = setting(0, "Threads of DuckDB; 0: one per core.", kind="threads or none")
    duckdb_memory: int | None = setting(
        None,
        "Memory limit of DuckDB, e.g. `4GB`; by default its share of `memory_bytes_max`.",
        kind="memory or none",
    )
    duckdb_spill_folder: str | None = setting(
        None,
        "Folder in which DuckDB has one for intermediate results that memory doesn't hold; by"
        " default the system's for temporary files.",
        kind="text or none",
        reaches_out=True,
    )
    duckdb_spill_bytes_max: int = setting(
        16 * _GIB,
        "At most so many of these bytes; a statement that needs more is left to Spark.",
        kind="bytes",
    )
    cache_bytes: int = setting(
        _GIB // 2,
        "Memory for copies of small segment files, roll-ups of large ones and columns of dimensions"
        " that are asked for again and again, beside DuckDB's own; 0: none.",
        kind="whole number",
    )
    manifest_cache_bytes: int = setting(
        _GIB // 2,
        "Memory for manifests that were decoded into columns, from which counts, minima and maxima"
        " are answered and data files chosen: half for manifests, half for columns of the states of"
        " tables.",
        kind="bytes",
    )
    manifest_cache_folder: str | None = setting(
        None,
        "Local folder where they are kept as well; it may be deleted at any time. By default"
        " `cache/manifests` in the store, where that is a local folder.",
        kind="text or none",
        reaches_out=True,
    )
    manifest_cache_folder_bytes: int = setting(
        4 * _GIB,
        "So much of that folder's disk; what was used longest ago goes first. 0: none is used.",
        kind="whole number",
    )
    manifest_jobs: str = setting(
        "auto",
        "Whether Spark jobs may decode the manifests that aren't kept: `auto`, where a session runs"
        " already and a job is twice as quick; `always`, whenever there are any; `never`.",
        kind="choice",
        choices=("auto", "always", "never"),
    )
    manifest_jobs_bytes_min: int = setting(
        128 * 1024**2,
        "With `auto`, fewer bytes of manifests than this are decoded in the driver.",
        kind="bytes",
    )
    sidecar_jobs: str = setting(
        "auto",
        "Whether Spark's workers ask sidecars and read the rows that these leave, for statements"
        " that Spark runs: `auto`, where one row in 50 is left at most, or of more than 4,096"
        " files; `always`; `never`, where Spark reads all of the files that are left.",
        kind="choice",
        choices=("auto", "always", "never"),
    )
    spark_master: str = setting(
        "local[*]",
        "Master of the Spark that an embedded session starts.",
        kind="text",
        reaches_out=True,
    )
    spark_driver_memory: str = setting(
        "4g", "Memory of that Spark's driver.", kind="text", reaches_out=True
    )
    spark_conf: Mapping[str, str] = setting(
        {},
        "Further settings of that Spark; they win over ours, `spark.sql.variable.substitute=false`"
        " among them.",
        kind="mapping",
        reaches_out=True,
    )
    spark_output: str = setting(
        "kept",
        "What that Spark's JVM writes to standard error: `kept` in a file as long as the process"
        " runs, of which errors tell the end; or `shown` as it comes.",
        kind="choice",
        choices=("kept", "shown"),
    )
    trusted_extensions: tuple[str, ...] = setting(
        (),
        "Extensions of Spark that neither filter nor mask rows, by their classes or packages:"
        " sessions with others are left to Spark.",
        kind="texts",
        reaches_out=True,
    )
    session_time_zone: str | None = setting(
        None,
        "Time zone of the session, e.g. `Europe/Paris`; by default Spark's own, the machine's.",
        kind="text or none",
    )
    build_files_per_job: int = setting(
        256, "A build reads at most so many data files in one Spark job.", kind="count"
    )
    build_bytes_per_job: int = setting(
        8 * _GIB, "A build reads at most so many bytes in one Spark job, or one file.", kind="bytes"
    )
    build_in_process_bytes_max: int = setting(
        _GIB // 2,
        "Where no Spark session runs, a cube or index is built in process if at most so many bytes"
        " of data files are read for it, and all that it keeps can be made there; 0: never.",
        kind="bytes",
    )
    relate_lookup_rows_max: int = setting(
        20_000_000,
        "A dimension of relate columns with at most so many rows is looked up in memory, by the"
        " driver and each worker; larger ones are joined with the fact's keys by Spark.",
        kind="whole number",
    )
    verify_sample: float = setting(
        0.0,
        "This share of the queries that aren't plain Spark's is compared with it in the background;"
        " a cube or index that makes an answer differ is switched off.",
        kind="share",
    )
    user: str | None = setting(
        None,
        "Who asks, for the exemptions of guards; `query` and `sql` may name another.",
        kind="text or none",
    )
    source: str | None = setting(
        None,
        "The application that asks, as the query log names it; by default `accelerator cli`, or the"
        " like, of those that come with the package.",
        kind="text or none",
    )
    guard_cross_joins: bool = setting(
        False, "Refuse queries that join relations without a predicate.", kind="switch"
    )
    guard_sorts: bool = setting(
        False, "Refuse queries that only sort: `ORDER BY` without `LIMIT`.", kind="switch"
    )
    guard_partitions: bool = setting(
        False,
        "Refuse queries on a partitioned table without a predicate on a partition column.",
        kind="switch",
    )
    guard_bytes_max: int = setting(
        0, "Refuse queries that may read more bytes of data files; 0: no limit.", kind="bytes"
    )
    guard_files_max: int = setting(
        0, "Refuse queries that may read more data files; 0: no limit.", kind="whole number"
    )
    guard_rows_max: int = setting(
        0, "Refuse queries that may read more rows; 0: no limit.", kind="whole number"
    )
    guard_exempt_users: tuple[str, ...] = setting(
        (), "Users whose queries no guard refuses.", kind="texts"
    )
    guard_exempt_tables: tuple[str, ...] = setting(
        (), "Tables, by their full names, that guards don't count.", kind="texts"
    )
    guard_exempt_comment: str | None = setting(
        None, "No guard refuses a query with this text in a comment.", kind="text or none"
    )
    recycle_bin_hours: float = setting(
        24.0,
        "UNDROP CUBE can bring a dropped cube back for so long at least; 0: DROP CUBE drops at "
        "once, as with FORCE.",
        kind="hours",
    )
    vacuum_retain_hours: float = setting(
        24.0,
        "Grace time: VACUUM keeps what became garbage, and orphans that were written, since then.",
        kind="hours",
    )
    vacuum_versions_min: int = setting(
        3, "VACUUM keeps at least so many of the newest versions of a table's store.", kind="count"
    )
    vacuum_min_batch_delete_size: int = setting(
        1000, "VACUUM deletes so many files by one request.", kind="count"
    )
    vacuum_delete_threads: int = setting(
        4, "VACUUM sends so many of these requests at once.", kind="threads"
    )
    vacuum_deletes_per_second: int = setting(
        0,
        "One VACUUM deletes at most so many files a second, by requests of no more; 0: no limit.",
        kind="whole number",
    )

    query_log: bool = setting(
        True,
        "Write each statement to the query log in the store (`SHOW QUERIES`), where the store isn't"
        " read-only.",
        kind="switch",
    )
    query_log_days: float = setting(
        14.0,
        "Days for which the query log is kept; 0: however old it gets.",
        kind="days",
    )
    query_log_bytes_max: int = setting(
        _GIB,
        "So much of the query log is kept in the store, by all processes together; what is oldest"
        " goes first. 0: no limit.",
        kind="whole number",
    )
    query_log_interval_s: float = setting(
        30.0,
        "Seconds for which statements wait before the query log is written; a process that is"
        " killed loses those.",
        kind="seconds",
    )
    refresh: str = setting(
        "manual",
        "When a cube or index without `SET REFRESH` is brought up to date by itself: `manual`,"
        " `on_commit`, or so long after the last time, e.g. `10 minutes`.",
        kind="refresh",
    )
    refresh_poll_s: float = setting(
        2.0,
        "Seconds from one look at the tables that are followed to the next.",
        kind="seconds",
    )
    refresh_bytes_max: int = setting(
        _GIB // 4,
        "A refresh builds at most so many bytes of data files, or one file, the newest first;"
        " others have their turn before it goes on.",
        kind="bytes",
    )

    advisor: str = setting(
        "manual",
        "What the advisor does by itself, where the store is maintained: nothing (`manual`), "
        "`ANALYZE WORKLOAD` now and then (`advise`), or also make and drop what that advises"
        " (`auto`), within the limits below.",
        kind="choice",
        choices=("manual", "advise", "auto"),
    )
    advisor_every_s: float = setting(
        3600.0,
        "Seconds from one such analysis to the next; none is made where the query log has no news.",
        kind="seconds",
    )
    advisor_bytes_max: int = setting(
        _GIB,
        "What all cubes and indexes may take, those made by hand among them.",
        kind="bytes",
    )
    advisor_build_minutes: float = setting(
        60.0, "With `auto`, what its builds may take in 24 hours, together.", kind="minutes"
    )
    advisor_steps_max: int = setting(
        3, "With `auto`, so many recommendations are applied after one analysis.", kind="count"
    )
    advisor_refresh: str = setting(
        "on_commit",
        "With `auto`, when the cubes and indexes that it makes are brought up to date; as"
        " `refresh`.",
        kind="refresh",
    )
    advisor_drops: str = setting(
        "own",
        "With `auto`, what it may drop: `own`, cubes and indexes that it has made itself; `all`; or"
        " `none`. Cubes go to the recycle bin, indexes for good.",
        kind="choice",
        choices=("own", "all", "none"),
    )
    advisor_keep_days: float = setting(
        14.0,
        "With `auto`, a cube that answered nothing for so long may be dropped, and an index that"
        " left nothing out.",
        kind="days",
    )
    advisor_trial_days: float = setting(
        7.0,
        "So long after a recommendation was applied it's told whether it pays: a week has all that"
        " is asked on some weekday alone. `ANALYZE` advises to drop what doesn't.",
        kind="days",
    )
    advisor_trial_statements: int = setting(
        100, "Not before the query log has so many statements since, of any kind.", kind="count"
    )
    advisor_pays_share: float = setting(
        0.1, "It pays where it spares at least this share of what was promised.", kind="share"
    )

    def __post_init__(self) -> None:
        """Checks every value, so that no Config with a wrong one exists."""
        check_all(self)

    @property
    def has_limits(self) -> bool:
        """Whether a guard limits what a query may read."""
        return any((self.guard_bytes_max, self.guard_files_max, self.guard_rows_max))

    @property
    def has_guards(self) -> bool:
        """Whether any guard may refuse a query."""
        forms = (self.guard_cross_joins, self.guard_sorts, self.guard_partitions)
        return self.has_limits or any(forms)

    @property
    def store_root(self) -> str:
        """The store's root, with its default resolved."""
        return self.store or f"{self.warehouse.rstrip('/')}/{STORE_FOLDER}"

    @property
    def given_bytes_max(self) -> int:
        """Bytes of what DuckDB gives, or has to hold as Arrow rows."""
        return self.duckdb_bytes_max or 2 * _GIB

    def memory(self) -> MemoryBudget:
        """Who may have how much of it."""
        return shared_out(self.memory_bytes_max, self.cache_bytes, self.manifest_cache_bytes)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
        **arguments: Any,
    ) -> Config:
        """The settings from all sources; an argument that is None counts as not given.

        The file is `path`, else the one that $ACCELERATOR_CONFIG names, else `accelerator.toml` in
        the warehouse if there is one. What reaches out of the warehouse isn't taken from the last.
        """
        named = path or (os.environ if env is None else env).get(ENV_FILE)
        if named and not Path(named).is_file():
            raise ConfigError(
                f"configuration file {os.fspath(named)} isn't there",
                hint=f"check the path, or unset {ENV_FILE}",
            )
        return cls._loaded(Path(named) if named else None, env, arguments)

    @classmethod
    def load_here(cls, env: Mapping[str, str] | None = None, **arguments: Any) -> Config:
        """The same with `accelerator.toml` of the working directory, where there is one.

        Nobody has named it: in a warehouse it's taken for the warehouse's own.
        """
        file = Path(FILE_NAME)
        return cls._loaded(file if file.is_file() else None, env, arguments, found=True)

    @classmethod
    def _loaded(
        cls,
        file: Path | None,
        env: Mapping[str, str] | None,
        arguments: Mapping[str, Any],
        *,
        found: bool = False,
    ) -> Config:
        named = {key: value for key, value in arguments.items() if value is not None}
        over = dict(
            _parsed(_from_environment(os.environ if env is None else env), "the environment")
        )
        over |= dict(_parsed(named, "the arguments"))
        own = file is None
        if file is None:
            file = _folder(over.get("warehouse", WAREHOUSE)) / FILE_NAME
            if not file.is_file():
                return cls(**over)
        given = from_file(file)
        given.pop(GATEWAY, None)  # what listens to clients is no setting of a session
        values = dict(_parsed(given, str(file)))
        loaded = cls(**(values | over))
        if own or (found and _is_in_warehouse(file, _folder(loaded.warehouse))):
            _check_own(file, values)
        return loaded


def _folder(warehouse: str) -> Path:
    return Path(path_of(warehouse))


def _is_in_warehouse(file: Path, warehouse: Path) -> bool:
    """Whether those who write tables may have written it: it's in the warehouse, or in another."""
    folder = file.absolute().parent.resolve()
    own = any((folder / name).exists() for name in (CATALOG_FILE, STORE_FOLDER))
    return own or folder.is_relative_to(warehouse.absolute().resolve())


def is_in_warehouse(file: Path, config: Config) -> bool:
    """Whether those who write tables may have written the file."""
    return _is_in_warehouse(file, _folder(config.warehouse))


def _check_own(file: Path, values: Mapping[str, Any]) -> None:
    """ConfigError where a warehouse's own file sets what reaches out of it."""
    barred = [f.name for f in fields(Config) if f.metadata["reaches_out"] and f.name in values]
    if barred:
        raise ConfigError(
            f"setting {barred[0]!r} can't stand in the file of a warehouse, {file}",
            hint="whoever writes to the warehouse could set it: put it into a file elsewhere, and"
            f" name that by --config or ${ENV_FILE} ({', '.join(barred)})",
        )


def _from_environment(env: Mapping[str, str]) -> dict[str, str]:
    return {
        key.removeprefix(ENV_PREFIX).lower(): value
        for key, value in env.items()
        if key.startswith(ENV_PREFIX) and key != ENV_FILE and not key.startswith(GATEWAY_PREFIX)
    }


def _parsed(values: Mapping[str, Any], source: str) -> Iterator[tuple[str, Any]]:
    return parsed(Config, values, source, _PAGE)
