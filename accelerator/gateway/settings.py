"""The gateway's settings: the table `[gateway]` of the configuration file, and the environment.

The file's other settings are the sessions' (`common/config/config.py`). A file in a warehouse can't
have the table: whoever writes tables could let everybody in. `docs/reference/gateway.md` lists the
same.
"""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Mapping
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from accelerator.common.config.config import (
    ENV_FILE,
    FILE_NAME,
    GATEWAY,
    GATEWAY_PREFIX,
    Config,
    is_in_warehouse,
)
from accelerator.common.config.settings import Settings, from_file, setting
from accelerator.common.config.value_kinds import (
    Allowed,
    Bytes,
    Count,
    Seconds,
    Switch,
    Text,
    TextOrNone,
    Threads,
    Whole,
    texts,
    whole,
)
from accelerator.common.http_hosts import configured_host
from accelerator.errors import ConfigError

_MIB = 1024**2
_PATHS = (
    "users",
    "policy",
    "audit_log",
    "tls_certificate",
    "tls_key",
    "cache_folder",
    "upload_folder",
    "worker_cgroup",
)


Port = Annotated[int, Allowed("a whole number from 0 to 65535", whole(0, 65535))]
Hosts = Annotated[
    tuple[str, ...],
    Allowed("names of hosts and addresses, without scheme, port and path", texts(configured_host)),
]
Networks = Annotated[
    tuple[str, ...],
    Allowed("addresses such as 10.0.0.7, networks as 10.0.0.0/8", texts(ip_network)),
]


class GatewaySettings(Settings):
    """Every setting of a gateway, with its documentation."""

    prefix: ClassVar[str] = GATEWAY_PREFIX
    page: ClassVar[str] = "gateway.md"

    host: Text = setting("127.0.0.1", "Address on which clients are listened to.")
    port: Port = setting(8080, "Port for clients; 0: one that is free.")
    workers: Whole = setting(
        0, "Processes that run statements; 0: one for each core, eight at most."
    )
    spark: Literal["lazy", "warm"] = setting(
        "lazy",
        "When Spark starts: with the first statement that needs it (`lazy`), or with the gateway,"
        " while statements are answered (`warm`).",
    )
    threads: Threads = setting(4, "Statements that a worker runs at once.")
    worker_silence_s: Seconds = setting(
        10.0,
        "A worker is killed and replaced if it doesn't answer a ping for so long, and replaced if a"
        " statement goes on for so long after its stop or its time limit.",
    )
    pattern_timeout_s: Seconds = setting(
        300.0,
        "Seconds that a statement may run in Spark if it has a pattern (LIKE, RLIKE, regexp_*,"
        " split) that isn't proven to take linear time; 0: no limit.",
    )
    worker_memory_bytes: Whole = setting(
        0, "Memory that the system lets a worker have; 0: its part of nine tenths of the machine's."
    )
    jvm_memory_bytes: Whole = setting(
        0, "The same for the JVM of the worker that has Spark; 0: twice its heap, and 2 GiB."
    )
    worker_cgroup: TextOrNone = setting(
        None,
        "Folder of a control group (v2) that workers get groups in; by default one that systemd"
        " has delegated. Without one each process is limited by RLIMIT_DATA.",
    )
    time_zones: Count = setting(
        3, "Sessions that a worker keeps for clients of different time zones."
    )
    users: TextOrNone = setting(
        None,
        "File of the users who may ask, with their passwords' hashes; without it everybody may.",
    )
    policy: TextOrNone = setting(
        None, "File that says who may do what; without it every user may all."
    )
    audit_log: TextOrNone = setting(None, "File with a line for each decision about access.")
    tls_certificate: TextOrNone = setting(
        None, "Certificate of the server, with its chain, as PEM."
    )
    tls_key: TextOrNone = setting(None, "Its private key, as PEM.")
    hosts: Hosts = setting(
        (), "Names and addresses of the gateway beside this machine's own: clients may ask by them."
    )
    trusted_proxies: Networks = setting(
        (), "Addresses or networks of proxies whose X-Forwarded headers count."
    )
    insecure: Switch = setting(
        False, "Listen beyond this machine though there are no users, or passwords without TLS."
    )
    first_answer_s: Seconds = setting(
        0.3, "Seconds that a statement's first response waits for its rows before the client polls."
    )
    poll_s: Seconds = setting(1.0, "Seconds that a poll waits for rows.")
    page_bytes: Bytes = setting(_MIB, "About so many bytes of rows are in a response.")
    client_timeout_s: Seconds = setting(
        300.0, "A statement whose client hasn't asked for so long is given up."
    )
    unread_bytes_max: Bytes = setting(
        512 * _MIB,
        "Bytes of rows, and of statements' texts, that wait for clients, half of them for one; of"
        " more the oldest are given up.",
    )
    unread_max: Count = setting(
        2000, "The same for statements that have ended, and whose rows wait."
    )
    statement_bytes_max: Bytes = setting(_MIB, "The longest statement that is read, in bytes.")
    header_bytes_max: Bytes = setting(
        256 * 1024, "The longest header, in bytes: prepared statements travel in them."
    )
    statements_max: Count = setting(100, "Statements that run at once; more of them wait.")
    queue_max: Whole = setting(1000, "Statements that wait; more are refused.")
    queue_timeout_s: Seconds = setting(
        300.0, "Seconds that a statement may wait before it's refused."
    )
    cache_bytes: Whole = setting(
        256 * _MIB, "Memory for answers that may be given again; 0: none are."
    )
    cache_disk_bytes: Whole = setting(0, "Disk for answers that memory doesn't hold; 0: none.")
    cache_folder: TextOrNone = setting(
        None, "Folder for them; by default the system's for temporary files."
    )
    cache_answer_bytes_max: Bytes = setting(16 * _MIB, "An answer of more bytes isn't kept.")
    upload_bytes_max: Bytes = setting(
        1024 * _MIB, "The longest body of rows that the API appends, in bytes."
    )
    upload_folder: TextOrNone = setting(
        None, "Folder for such bodies while they come; by default the system's for temporary files."
    )
    maintenance: Switch = setting(
        True, "Vacuum the store round by round, as `accelerator serve-maintenance`."
    )
    maintenance_interval_s: Seconds = setting(3600.0, "Seconds from one round to the next.")
    maintenance_full_every: Whole = setting(
        24, "Find orphans too in the first of so many rounds; 0: never."
    )
    maintenance_snapshots: Switch = setting(
        False, "Expire the tables' own old snapshots too, for which Spark starts."
    )
    maintenance_refresh: Switch = setting(
        True, "Bring cubes and indexes up to date, as `SET REFRESH` says, with `maintenance`."
    )
    statement_memory_bytes: Whole = setting(
        256 * 1024**2,
        "What a statement is thought to take, for limits of memory, while none of its shape ended.",
    )
    history_max: Whole = setting(10_000, "Statements that have ended and are remembered.")
    metrics_open: Switch = setting(
        False, "Figures at /metrics are given to whoever asks, though there are users."
    )
    tracing_endpoint: TextOrNone = setting(
        None, "Address of a collector that takes OpenTelemetry's spans over HTTP."
    )
    slow_s: Seconds = setting(10.0, "A statement that takes longer is told in the log; 0: none.")

    @property
    def workers_started(self) -> int:
        """How many processes that makes here."""
        return self.workers or min(8, os.cpu_count() or 1)

    def private_files(self, file: Path | None = None) -> tuple[str, ...]:
        """The local files and folders that are the gateway's own, and the file of its settings."""
        found = tuple(filter(None, (getattr(self, name) for name in _PATHS)))
        return found if file is None else (*found, str(file.absolute()))

    @property
    def is_local(self) -> bool:
        """Whether only this machine's own clients can reach it."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def check_open(self) -> None:
        """ConfigError where strangers could ask, or passwords would be read on the way."""
        if (self.tls_certificate is None) != (self.tls_key is None):
            raise ConfigError(
                "a certificate needs its key, and a key its certificate",
                hint="set both tls_certificate and tls_key",
            )
        if self.is_local or self.insecure:
            return
        missing = "users" if self.users is None else "TLS" if self.tls_certificate is None else ""
        if missing:
            raise ConfigError(
                f"the gateway would listen at {self.host} without {missing}",
                hint='set users, and tls_certificate with tls_key; or host = "127.0.0.1"; or, where'
                " something in front sees to it, insecure = true",
            )

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
        **arguments: Any,
    ) -> GatewaySettings:
        """From the file's table, then the environment, then arguments that aren't None.

        The file is `path`, else the one that $ACCELERATOR_CONFIG names, else `accelerator.toml` in
        the working directory. Paths in it are relative to it.
        """
        file = named_file(path, env)
        values = {} if file is None else _of_file(file)
        return cls(**(values | cls.of_process(env, arguments)))


def named_file(
    path: str | os.PathLike[str] | None = None, env: Mapping[str, str] | None = None
) -> Path | None:
    """The file that has the settings, if there is one."""
    named = path or (os.environ if env is None else env).get(ENV_FILE)
    if not named:
        return Path(FILE_NAME) if Path(FILE_NAME).is_file() else None
    return Path(named)


def _of_file(file: Path) -> dict[str, Any]:
    if not file.is_file():
        raise ConfigError(f"configuration file {file} isn't there", hint="check the path")
    table = from_file(file).get(GATEWAY, {})
    if not isinstance(table, dict):
        raise ConfigError(f"{GATEWAY} in {file} is no table", hint=f"write it as [{GATEWAY}]")
    values = GatewaySettings.parsed(table, f"[{GATEWAY}] of {file}")
    for key in _PATHS:
        if values.get(key):
            values[key] = str(file.absolute().parent / Path(values[key]).expanduser())
    return values


def check_place(file: Path, config: Config) -> None:
    """ConfigError where those who write tables may have written the gateway's settings."""
    if from_file(file).get(GATEWAY) and is_in_warehouse(file, config):
        raise ConfigError(
            f"the file of a warehouse, {file}, can't have [{GATEWAY}]",
            hint="whoever writes to the warehouse could let anybody in: put it into a file"
            f" elsewhere, and name that by --config or ${ENV_FILE}",
        )
