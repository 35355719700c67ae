"""A gateway in processes of its own, as `accelerator serve` starts them, and what they hold."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Served:
    """Where it listens, and the process that was started."""

    host: str
    port: int
    pid: int

    def processes(self) -> dict[int, str]:
        """All of its processes: the gateway, the template, workers, a JVM; by what each is."""
        children: dict[int, list[int]] = {}
        for entry in _PROC.glob("[0-9]*"):
            with suppress(OSError):
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
                children.setdefault(int(fields[1]), []).append(int(entry.name))
        found = {self.pid: "gateway"}
        for template in children.get(self.pid, ()):
            found[template] = "template"
            for worker in children.get(template, ()):
                found[worker] = "worker"
                found |= dict.fromkeys(children.get(worker, ()), "java")
        return found

    def workers(self) -> list[int]:
        """The processes that run statements."""
        return [pid for pid, what in self.processes().items() if what == "worker"]

    def has_java(self) -> bool:
        """Whether any of them has started a JVM."""
        return "java" in self.processes().values()

    def kilobytes(self, what: str | None = None) -> int:
        """Memory that is theirs alone, or their share of what is shared; of one kind of process."""
        return sum(_pss(pid) for pid, kind in self.processes().items() if what in (None, kind))


def _pss(pid: int) -> int:
    with suppress(OSError):
        for line in (_PROC / str(pid) / "smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1])
    return 0


@contextmanager
def served(
    warehouse: Path,
    log: Path,
    environment: Mapping[str, str] | None = None,
    /,
    **settings: str | int | float,
) -> Iterator[Served]:
    """A gateway over the warehouse; `settings` are those of its table [gateway]."""
    given = {f"ACCELERATOR_GATEWAY_{key.upper()}": str(value) for key, value in settings.items()}
    command = [sys.executable, "-m", "accelerator", "serve", "--json", "--port", "0"]
    with log.open("ab") as file:
        process = subprocess.Popen(
            [*command, "--warehouse", str(warehouse)],
            stdout=subprocess.PIPE,
            stderr=file,
            env=os.environ | given | dict(environment or {}),
        )
    assert process.stdout is not None
    try:
        url = json.loads(process.stdout.readline())["url"]
        host, _, port = url.removeprefix("http://").partition(":")
        yield Served(host, int(port), process.pid)
    finally:
        process.send_signal(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(40)
        process.kill()
        process.wait()
