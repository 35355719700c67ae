"""All settings, as one frozen value: from a TOML file, then the environment, then arguments.

The later source wins. An unknown key or a value that a setting can't have is a `ConfigError` that
names the key, its source and what is allowed. `docs/reference/configuration.md` lists the same.
Pydantic reads the annotations, which cost a millisecond more as texts.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic_core import core_schema

from accelerator.common.config.memory_budget import MemoryBudget, shared_out
from accelerator.common.config.settings import (
    Settings,
    from_file,
    reaching_out,
    setting,
)
from accelerator.common.config.value_kinds import (
    Allowed,
    Bytes,
    Count,
    Days,
    Dialect,
    Hours,
    MemoryOrNone,
    Minutes,
    Name,
    Refresh,
    Seconds,
    Share,
    Switch,
    Table,
    Tables,
    Text,
    TextOrNone,
    Texts,
    Threads,
    ThreadsOrNone,
    Whole,
    or_none,
)
from accelerator.common.files.file_uri import path_of
from accelerator.errors import ConfigError

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

_GIB = 1024**3
_CATALOGS = core_schema.literal_schema(["sql", "rest", "hive", "glue"])
CatalogType = Annotated[
    str | None, Allowed("one of sql, rest, hive, glue, or nothing", or_none(_CATALOGS))
]


class Config(Settings):
    """Every setting of a session, with its documentation."""

    prefix: ClassVar[str] = ENV_PREFIX
    page: ClassVar[str] = "configuration.md"

    warehouse: Text = setting(
        WAREHOUSE,
        "Folder or URI of the Iceberg warehouse of an embedded session.",
        reaches_out=True,
    )
    catalog_name: Name = setting(
        "lake", "Name of the embedded catalog in Spark and in table names."
    )
    catalog_type: CatalogType = setting(
        None,
        "Sort of the catalog where it isn't the warehouse folder's own: `sql`, `rest`, `hive` or"
        " `glue`; by default what `catalog_uri` looks like.",
        reaches_out=True,
    )
    catalog_uri: TextOrNone = setting(
        None,
        "Address of the catalog, in PyIceberg's words, e.g. `sqlite:////data/catalog.db`,"
        " `postgresql+psycopg2://…` or `https://…`.",
        reaches_out=True,
        secret=True,
    )
    catalog_properties: Table = setting(
        {},
        "Further properties of the catalog, in PyIceberg's names, e.g. `warehouse`, `credential`"
        " or `s3.endpoint`.",
        reaches_out=True,
    )
    catalogs: Tables = setting(
        {},
        "Further catalogs by name, each with its properties, `type` and `uri` among them.",
        reaches_out=True,
    )
    store: TextOrNone = setting(
        None,
        "Root of the store: a path, `file:`, `s3:`, `gs:` or `az:` URI. "
        "By default `.accelerator` in the warehouse, where that is known.",
        reaches_out=True,
    )
    store_options: Table = setting(
        {},
        "Options of the object store, in obstore's names, e.g. `aws_endpoint`. "
        "Credentials are better left to the environment.",
        reaches_out=True,
    )
    segment_cache_folder: TextOrNone = setting(
        None,
        "Local folder for copies of an object store's segments, which DuckDB reads; it may be"
        " deleted at any time. By default `accelerator/segments` in the user's folder for caches.",
        reaches_out=True,
    )
    segment_cache_bytes: Whole = setting(
        16 * _GIB,
        "So much of that folder's disk; what was used longest ago goes first. A larger segment file"
        " isn't read in process.",
    )
    store_read_only: Switch = setting(
        False, "Answer from cubes but never build, merge or drop any."
    )
    enabled: Switch = setting(True, "Off: every statement runs as it is, in plain Spark.")
    dialect: Dialect = setting("spark", "Dialect that queries are written in.")
    metadata_max_age_s: Seconds = setting(
        0.0,
        "How old, in seconds, a table's metadata pointer may be. 0: each query asks the catalog.",
    )
    store_max_age_s: Seconds = setting(
        0.0,
        "How old, in seconds, our knowledge of cubes and segments may be. 0: each query checks.",
    )
    engine: Literal["auto", "duckdb", "spark"] = setting(
        "auto", "Engine of `query`: the cheaper one by bytes left to read, or always the named one."
    )
    timeout_s: Seconds = setting(
        0.0,
        "Seconds that a query may take, whichever engine answers; then it's stopped, with an error."
        " 0: as long as it needs.",
    )
    duckdb_bytes_max: Bytes = setting(
        0,
        "With engine `auto`, what is larger than this to read, or to give, goes to Spark. 0: DuckDB"
        " reads what it should be done with first, and gives up to 2 GiB.",
    )
    memory_bytes_max: Bytes = setting(
        0,
        "What statements in process may hold in memory together: DuckDB's limit, rows as Arrow,"
        " large answers and the two caches below, each within its share. What doesn't fit spills,"
        " or goes to Spark. 0: 70 % of the machine's, or of what a container may have.",
    )
    duckdb_threads: ThreadsOrNone = setting(0, "Threads of DuckDB; 0: one per core.")
    duckdb_memory: MemoryOrNone = setting(
        None, "Memory limit of DuckDB, e.g. `4GB`; by default its share of `memory_bytes_max`."
    )
    duckdb_spill_folder: TextOrNone = setting(
        None,
        "Folder in which DuckDB has one for intermediate results that memory doesn't hold; by"
        " default the system's for temporary files.",
        reaches_out=True,
    )
    duckdb_spill_bytes_max: Bytes = setting(
        16 * _GIB, "At most so many of these bytes; a statement that needs more is left to Spark."
    )
    cache_bytes: Whole = setting(
        _GIB // 2,
        "Memory for copies of small segment files, roll-ups of large ones and columns of dimensions"
        " that are asked for again and again, beside DuckDB's own; 0: none.",
    )
    manifest_cache_bytes: Bytes = setting(
        _GIB // 2,
        "Memory for manifests that were decoded into columns, from which counts, minima and maxima"
        " are answered and data files chosen: half for manifests, half for columns of the states of"
        " tables.",
    )
    manifest_cache_folder: TextOrNone = setting(
        None,
        "Local folder where they are kept as well; it may be deleted at any time. By default"
        " `cache/manifests` in the store, where that is a local folder.",
        reaches_out=True,
    )
    manifest_cache_folder_bytes: Whole = setting(
        4 * _GIB,
        "So much of that folder's disk; what was used longest ago goes first. 0: none is used.",
    )
    manifest_jobs: Literal["auto", "always", "never"] = setting(
        "auto",
        "Whether Spark jobs may decode the manifests that aren't kept: `auto`, where a session runs"
        " already and a job is twice as quick; `always`, whenever there are any; `never`.",
    )
    manifest_jobs_bytes_min: Bytes = setting(
        128 * 1024**2, "With `auto`, fewer bytes of manifests than this are decoded in the driver."
    )
    sidecar_jobs: Literal["auto", "always", "never"] = setting(
        "auto",
        "Whether Spark's workers ask sidecars and read the rows that these leave, for statements"
        " that Spark runs: `auto`, where one row in 50 is left at most, or of more than 4,096"
        " files; `always`; `never`, where Spark reads all of the files that are left.",
    )
    spark_master: Text = setting(
        "local[*]", "Master of the Spark that an embedded session starts.", reaches_out=True
    )
    spark_driver_memory: Text = setting("4g", "Memory of that Spark's driver.", reaches_out=True)
    spark_conf: Table = setting(
        {},
        "Further settings of that Spark; they win over ours, `spark.sql.variable.substitute=false`"
        " among them.",
        reaches_out=True,
    )
    spark_output: Literal["kept", "shown"] = setting(
        "kept",
        "What that Spark's JVM writes to standard error: `kept` in a file as long as the process"
        " runs, of which errors tell the end; or `shown` as it comes.",
    )
    trusted_extensions: Texts = setting(
        (),
        "Extensions of Spark that neither filter nor mask rows, by their classes or packages:"
        " sessions with others are left to Spark.",
        reaches_out=True,
    )
    session_time_zone: TextOrNone = setting(
        None,
        "Time zone of the session, e.g. `Europe/Paris`; by default Spark's own, the machine's.",
    )
    build_files_per_job: Count = setting(
        256, "A build reads at most so many data files in one Spark job."
    )
    build_bytes_per_job: Bytes = setting(
        8 * _GIB, "A build reads at most so many bytes in one Spark job, or one file."
    )
    build_in_process_bytes_max: Bytes = setting(
        _GIB // 2,
        "Where no Spark session runs, a cube or index is built in process if at most so many bytes"
        " of data files are read for it, and all that it keeps can be made there; 0: never.",
    )
    relate_lookup_rows_max: Whole = setting(
        20_000_000,
        "A dimension of relate columns with at most so many rows is looked up in memory, by the"
        " driver and each worker; larger ones are joined with the fact's keys by Spark.",
    )
    verify_sample: Share = setting(
        0.0,
        "This share of the queries that aren't plain Spark's is compared with it in the background;"
        " a cube or index that makes an answer differ is switched off.",
    )
    user: TextOrNone = setting(
        None, "Who asks, for the exemptions of guards; `query` and `sql` may name another."
    )
    source: TextOrNone = setting(
        None,
        "The application that asks, as the query log names it; by default `accelerator cli`, or the"
        " like, of those that come with the package.",
    )
    guard_cross_joins: Switch = setting(
        False, "Refuse queries that join relations without a predicate."
    )
    guard_sorts: Switch = setting(
        False, "Refuse queries that only sort: `ORDER BY` without `LIMIT`."
    )
    guard_partitions: Switch = setting(
        False, "Refuse queries on a partitioned table without a predicate on a partition column."
    )
    guard_bytes_max: Bytes = setting(
        0, "Refuse queries that may read more bytes of data files; 0: no limit."
    )
    guard_files_max: Whole = setting(
        0, "Refuse queries that may read more data files; 0: no limit."
    )
    guard_rows_max: Whole = setting(0, "Refuse queries that may read more rows; 0: no limit.")
    guard_exempt_users: Texts = setting((), "Users whose queries no guard refuses.")
    guard_exempt_tables: Texts = setting(
        (), "Tables, by their full names, that guards don't count."
    )
    guard_exempt_comment: TextOrNone = setting(
        None, "No guard refuses a query with this text in a comment."
    )
    recycle_bin_hours: Hours = setting(
        24.0,
        "UNDROP CUBE can bring a dropped cube back for so long at least; 0: DROP CUBE drops at "
        "once, as with FORCE.",
    )
    vacuum_retain_hours: Hours = setting(
        24.0,
        "Grace time: VACUUM keeps what became garbage, and orphans that were written, since then.",
    )
    vacuum_versions_min: Count = setting(
        3, "VACUUM keeps at least so many of the newest versions of a table's store."
    )
    vacuum_min_batch_delete_size: Count = setting(
        1000, "VACUUM deletes so many files by one request."
    )
    vacuum_delete_threads: Threads = setting(4, "VACUUM sends so many of these requests at once.")
    vacuum_deletes_per_second: Whole = setting(
        0, "One VACUUM deletes at most so many files a second, by requests of no more; 0: no limit."
    )

    query_log: Switch = setting(
        True,
        "Write each statement to the query log in the store (`SHOW QUERIES`), where the store isn't"
        " read-only.",
    )
    query_log_days: Days = setting(
        14.0, "Days for which the query log is kept; 0: however old it gets."
    )
    query_log_bytes_max: Whole = setting(
        _GIB,
        "So much of the query log is kept in the store, by all processes together; what is oldest"
        " goes first. 0: no limit.",
    )
    query_log_interval_s: Seconds = setting(
        30.0,
        "Seconds for which statements wait before the query log is written; a process that is"
        " killed loses those.",
    )
    refresh: Refresh = setting(
        "manual",
        "When a cube or index without `SET REFRESH` is brought up to date by itself: `manual`,"
        " `on_commit`, or so long after the last time, e.g. `10 minutes`.",
    )
    refresh_poll_s: Seconds = setting(
        2.0, "Seconds from one look at the tables that are followed to the next."
    )
    refresh_bytes_max: Bytes = setting(
        _GIB // 4,
        "A refresh builds at most so many bytes of data files, or one file, the newest first;"
        " others have their turn before it goes on.",
    )

    advisor: Literal["manual", "advise", "auto"] = setting(
        "manual",
        "What the advisor does by itself, where the store is maintained: nothing (`manual`), "
        "`ANALYZE WORKLOAD` now and then (`advise`), or also make and drop what that advises"
        " (`auto`), within the limits below.",
    )
    advisor_every_s: Seconds = setting(
        3600.0,
        "Seconds from one such analysis to the next; none is made where the query log has no news.",
    )
    advisor_bytes_max: Bytes = setting(
        _GIB, "What all cubes and indexes may take, those made by hand among them."
    )
    advisor_build_minutes: Minutes = setting(
        60.0, "With `auto`, what its builds may take in 24 hours, together."
    )
    advisor_steps_max: Count = setting(
        3, "With `auto`, so many recommendations are applied after one analysis."
    )
    advisor_refresh: Refresh = setting(
        "on_commit",
        "With `auto`, when the cubes and indexes that it makes are brought up to date; as"
        " `refresh`.",
    )
    advisor_drops: Literal["own", "all", "none"] = setting(
        "own",
        "With `auto`, what it may drop: `own`, cubes and indexes that it has made itself; `all`; or"
        " `none`. Cubes go to the recycle bin, indexes for good.",
    )
    advisor_keep_days: Days = setting(
        14.0,
        "With `auto`, a cube that answered nothing for so long may be dropped, and an index that"
        " left nothing out.",
    )
    advisor_trial_days: Days = setting(
        7.0,
        "So long after a recommendation was applied it's told whether it pays: a week has all that"
        " is asked on some weekday alone. `ANALYZE` advises to drop what doesn't.",
    )
    advisor_trial_statements: Count = setting(
        100, "Not before the query log has so many statements since, of any kind."
    )
    advisor_pays_share: Share = setting(
        0.1, "It pays where it spares at least this share of what was promised."
    )

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
    ) -> Self:
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
    def load_here(cls, env: Mapping[str, str] | None = None, **arguments: Any) -> Self:
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
    ) -> Self:
        over = cls.of_process(env, arguments, ENV_FILE, GATEWAY_PREFIX)
        own = file is None
        if file is None:
            file = _folder(over.get("warehouse", WAREHOUSE)) / FILE_NAME
            if not file.is_file():
                return cls(**over)
        given = from_file(file)
        given.pop(GATEWAY, None)  # what listens to clients is no setting of a session
        values = cls.parsed(given, str(file))
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
    barred = [name for name in reaching_out(Config) if name in values]
    if barred:
        raise ConfigError(
            f"setting {barred[0]!r} can't stand in the file of a warehouse, {file}",
            hint="whoever writes to the warehouse could set it: put it into a file elsewhere, and"
            f" name that by --config or ${ENV_FILE} ({', '.join(barred)})",
        )
