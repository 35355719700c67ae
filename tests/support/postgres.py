"""A PostgreSQL server of a test's own: started in a folder of its own, gone with the test."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

USER, PASSWORD = "reader", "secret-of-the-reader"
_DEBIAN = Path("/usr/lib/postgresql")


def binaries() -> Path | None:
    """The folder of the newest server's programs; None where there is none."""
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).parent
    versions = sorted(_DEBIAN.glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    return versions[-1].parent if versions else None


class PostgresServer:
    """Runs until it's stopped; `uri` is in PyIceberg's words."""

    def __init__(self, folder: Path, programs: Path) -> None:
        self._folder, self._programs = folder, programs
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]

    @property
    def uri(self) -> str:
        return self.uri_of(PASSWORD)

    def uri_of(self, password: str) -> str:
        """The same with another password."""
        return f"postgresql+psycopg2://{USER}:{password}@127.0.0.1:{self.port}/postgres"

    def make(self) -> None:
        secret = self._folder / "password"
        secret.write_text(PASSWORD)
        words = ["-U", USER, "-A", "scram-sha-256", "--pwfile", str(secret), "--no-sync"]
        self._run("initdb", *words, "-D", str(self._folder / "data"))

    def start(self) -> None:
        options = f"-p {self.port} -k {self._folder} -c listen_addresses=127.0.0.1 -c fsync=off"
        self._control("start", "-o", options, "-l", str(self._folder / "log"))

    def stop(self) -> None:
        self._control("stop", "-m", "immediate")

    def _control(self, *words: str) -> None:
        self._run("pg_ctl", "-D", str(self._folder / "data"), "-w", *words)

    def _run(self, program: str, *words: str) -> None:
        subprocess.run(
            [*_as_another(), str(self._programs / program), *words],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=self._folder,
            timeout=120,
        )


@contextmanager
def running(programs: Path) -> Iterator[PostgresServer]:
    """A server, while the block runs."""
    folder = Path(tempfile.mkdtemp(prefix="postgres-", dir="/tmp"))
    if _as_another():
        shutil.chown(folder, "postgres")
    server = PostgresServer(folder, programs)
    try:
        server.make()
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _as_another() -> list[str]:
    """The server doesn't run as root."""
    if os.getuid():
        return []
    pwd.getpwnam("postgres")  # comes with the server's package
    return ["runuser", "-u", "postgres", "--"]
