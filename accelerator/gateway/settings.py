"""The gateway's settings: the table `[gateway]` of the configuration file, and the environment.

The file's other settings are the sessions' (`common/config/config.py`). A file in a warehouse can't
have the table: whoever writes tables could let everybody in. `docs/reference/gateway.md` lists the
same.
"""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from ipaddress import ip_network
from pathlib import Path
from typing import Any

from accelerator.common.config.config import ENV_FILE, FILE_NAME, GATEWAY, GATEWAY_PREFIX, Config
from accelerator.common.config.fields import check_all, from_file, parsed, setting
from accelerator.common.http_hosts import configured_host
from accelerator.errors import ConfigError

_PAGE = "gateway.md"
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


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewaySettings:
    """Every setting of a gateway; each one's meaning stands beside it."""

    host: str = setting("127.0.0.1", "Address on which clients are listened to.", kind="text")
    port: int = setting(8080, "Port for clients; 0: one that is free.", kind="whole number")
    workers: int = setting(
        0,
        "Processes that run statements; 0: one for each core, eight at most.",
        kind="whole number",
    )
    spark: str = setting(
        "lazy",
        "When Spark starts: with the first statement that needs it (`lazy`), or with the gateway,"
        " while statements are answered (`warm`).",
        kind="choice",
        choices=("lazy", "warm"),
    )
    threads: int = setting(4, "Statements that a worker runs at once.", kind="threads")
    worker_silence_s: float = setting(
        10.0,
        "A worker is killed and replaced if it doesn't answer a ping for so long, and replaced if a"
        " statement goes on for so long after its stop or its time limit.",
        kind="seconds",
    )
    pattern_timeout_s: float = setting(
        300.0,
        "Seconds that a statement may run in Spark if it has a pattern (LIKE, RLIKE, regexp_*,"
        " split) that isn't proven to take linear time; 0: no limit.",
        kind="seconds",
    )
    worker_memory_bytes: int = setting(
        0,
        "Memory that the system lets a worker have; 0: its part of nine tenths of the machine's.",
        kind="whole number",
    )
    jvm_memory_bytes: int = setting(
        0,
        "The same for the JVM of the worker that has Spark; 0: twice its heap, and 2 GiB.",
        kind="whole number",
    )
    worker_cgroup: str | None = setting(
        None,
        "Folder of a control group (v2) that workers get groups in; by default one that systemd"
        " has delegated. Without one each process is limited by RLIMIT_DATA.",
        kind="text or none",
    )
    time_zones: int = setting(
        3, "Sessions that a worker keeps for clients of different time zones.", kind="count"
    )
    users: str | None = setting(
        None,
        "File of the users who may ask, with their passwords' hashes; without it everybody may.",
        kind="text or none",
    )
    policy: str | None = setting(
        None, "File that says who may do what; without it every user may all.", kind="text or none"
    )
    audit_log: str | None = setting(
        None, "File with a line for each decision about access.", kind="text or none"
    )
    tls_certificate: str | None = setting(
        None, "Certificate of the server, with its chain, as PEM.", kind="text or none"
    )
    tls_key: str | None = setting(None, "Its private key, as PEM.", kind="text or none")
    hosts: tuple[str, ...] = setting(
        (),
        "Names and addresses of the gateway beside this machine's own: clients may ask by them.",
        kind="texts",
    )
    trusted_proxies: tuple[str, ...] = setting(
        (),
        "Addresses or networks of proxies whose X-Forwarded headers count.",
        kind="texts",
    )
    insecure: bool = setting(
        False,
        "Listen beyond this machine though there are no users, or passwords without TLS.",
        kind="switch",
    )
    first_answer_s: float = setting(
        0.3,
        "Seconds that a statement's first response waits for its rows before the client polls.",
        kind="seconds",
    )
    poll_s: float = setting(1.0, "Seconds that a poll waits for rows.", kind="seconds")
    page_bytes: int = setting(_MIB, "About so many bytes of rows are in a response.", kind="bytes")
    client_timeout_s: float = setting(
        300.0, "A statement whose client hasn't asked for so long is given up.", kind="seconds"
    )
    unread_bytes_max: int = setting(
        512 * _MIB,
        "Bytes of rows, and of statements' texts, that wait for clients, half of them for one; of"
        " more the oldest are given up.",
        kind="bytes",
    )
    unread_max: int = setting(
        2000, "The same for statements that have ended, and whose rows wait.", kind="count"
    )
    statement_bytes_max: int = setting(
        _MIB, "The longest statement that is read, in bytes.", kind="bytes"
    )
    header_bytes_max: int = setting(
        256 * 1024,
        "The longest header, in bytes: prepared statements travel in them.",
        kind="bytes",
    )
    statements_max: int = setting(
        100, "Statements that run at once; more of them wait.", kind="count"
    )
    queue_max: int = setting(1000, "Statements that wait; more are refused.", kind="whole number")
    queue_timeout_s: float = setting(
        300.0, "Seconds that a statement may wait before it's refused.", kind="seconds"
    )
    cache_bytes: int = setting(
        256 * _MIB, "Memory for answers that may be given again; 0: none are.", kind="whole number"
    )
    cache_disk_bytes: int = setting(
        0, "Disk for answers that memory doesn't hold; 0: none.", kind="whole number"
    )
    cache_folder: str | None = setting(
        None, "Folder for them; by default the system's for temporary files.", kind="text or none"
    )
    cache_answer_bytes_max: int = setting(
        16 * _MIB, "An answer of more bytes isn't kept.", kind="bytes"
    )
    upload_bytes_max: int = setting(
        1024 * _MIB, "The longest body of rows that the API appends, in bytes.", kind="bytes"
    )
    upload_folder: str | None = setting(
        None,
        "Folder for such bodies while they come; by default the system's for temporary files.",
        kind="text or none",
    )
    maintenance: bool = setting(
        True, "Vacuum the store round by round, as `accelerator serve-maintenance`.", kind="switch"
    )
    maintenance_interval_s: float = setting(
        3600.0, "Seconds from one round to the next.", kind="seconds"
    )
    maintenance_full_every: int = setting(
        24, "Find orphans too in the first of so many rounds; 0: never.", kind="whole number"
    )
    maintenance_snapshots: bool = setting(
        False, "Expire the tables' own old snapshots too, for which Spark starts.", kind="switch"
    )
    maintenance_refresh: bool = setting(
        True,
        "Bring cubes and indexes up to date, as `SET REFRESH` says, with `maintenance`.",
        kind="switch",
    )
    statement_memory_bytes: int = setting(
        256 * 1024**2,
        "What a statement is thought to take, for limits of memory, while none of its shape ended.",
        kind="whole number",
    )
    history_max: int = setting(
        10_000, "Statements that have ended and are remembered.", kind="whole number"
    )
    metrics_open: bool = setting(
        False,
        "Figures at /metrics are given to whoever asks, though there are users.",
        kind="switch",
    )
    tracing_endpoint: str | None = setting(
        None,
        "Address of a collector that takes OpenTelemetry's spans over HTTP.",
        kind="text or none",
    )
    slow_s: float = setting(
        10.0, "A statement that takes longer is told in the log; 0: none.", kind="seconds"
    )

    def __post_init__(self) -> None:
        """Checks every value, so that no settings with a wrong one exist."""
        check_all(self)
        if self.port > 65535:
            raise ConfigError(f"setting 'port' can't be {self.port}", hint="ports end at 65535")
        if (self.tls_certificate is None) != (self.tls_key is None):
            raise ConfigError(
                "a certificate needs its key, and a key its certificate",
                hint="set both tls_certificate and tls_key",
            )
        for host in self.hosts:
            _check("hosts", configured_host, host, "name hosts without scheme, port and path")
        for proxy in self.trusted_proxies:
            _check("trusted_proxies", ip_network, proxy, "write it as 10.0.0.7 or 10.0.0.0/8")

    @property
    def workers_started(self) -> int:
        """How many processes that makes here."""
        return self.workers or min(8, os.cpu_count() or 1)

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
        environment = os.environ if env is None else env
        file = named_file(path, environment)
        values: dict[str, Any] = {}
        if file is not None:
            values = _of_file(file)
        prefix = len(GATEWAY_PREFIX)
        given = {
            k[prefix:].lower(): v for k, v in environment.items() if k.startswith(GATEWAY_PREFIX)
        }
        values |= dict(parsed(cls, given, "the environment", _PAGE))
        given = {key: value for key, value in arguments.items() if value is not None}
        values |= dict(parsed(cls, given, "the arguments", _PAGE))
        return cls(**values)


def _check(key: str, parse: Callable[[str], object], text: str, hint: str) -> None:
    try:
        parse(text)
    except ValueError as error:
        raise ConfigError(f"setting {key!r} can't have {text!r}: {error}", hint=hint) from error


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
    values = dict(parsed(GatewaySettings, table, f"[{GATEWAY}] of {file}", _PAGE))
    for key in _PATHS:
        if values.get(key):
            values[key] = str(file.absolute().parent / Path(values[key]).expanduser())
    return values


def check_place(file: Path, config: Config) -> None:
    """ConfigError where those who write tables may have written the gateway's settings."""
    from accelerator.common.config.config import is_in_warehouse

    if from_file(file).get(GATEWAY) and is_in_warehouse(file, config):
        raise ConfigError(
            f"the file of a warehouse, {file}, can't have [{GATEWAY}]",
            hint="whoever writes to the warehouse could let anybody in: put it into a file"
            f" elsewhere, and name that by --config or ${ENV_FILE}",
        )
