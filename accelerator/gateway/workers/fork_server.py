"""The process from which workers are forked: it has imported what a session needs, no more.

It has one thread, reads orders from a socket, and ends with it. A worker is there in a fraction of
the second or two that its imports would take, and shares their memory. Run by
`python -m accelerator.gateway.workers.fork_server FD`.
"""

from __future__ import annotations

import importlib
import logging
import os
import signal
import socket
import sys
from contextlib import suppress
from functools import partial

from accelerator.common.log_lines import log_to_stderr

PRELOADED = (
    "accelerator.session.commands",
    "accelerator.planning.candidates.constants",
    "accelerator.query.explain.explainer",
    "accelerator.query.explain.explanation",
    "accelerator.gateway.workers.worker",
    "accelerator.artifacts.sidecars.probe",
    "accelerator.session.opening",
    "accelerator.artifacts.relate.dimensions",
    "accelerator.query.execution.row_readers.scan",
    "accelerator.query.execution.row_readers.top_n",
    "accelerator.query.early_errors.lake_tables",
    "accelerator.query.virtual_tables.files_query",
    "accelerator.planning.survey",
    "pyarrow.compute",
    "rewrite.dialects.translate",
)
"""What sessions import only when they need it, and workers need."""


def main(orders: socket.socket) -> None:
    """Forks a worker for each order, whose socket comes with it; until the orders end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the gateway, which ends this one
    signal.signal(signal.SIGCHLD, partial(_reap, orders))
    log_to_stderr(logging.WARNING)
    for name in PRELOADED:
        importlib.import_module(name)
    orders.sendall(b"\n")  # ready
    while True:
        with suppress(InterruptedError):
            try:
                data, fds, _, _ = socket.recv_fds(orders, 1, 2)
            except ConnectionError:  # the gateway was killed
                return
            if not data:
                return
            _fork(orders, *fds)


def _fork(orders: socket.socket, fd: int, ledger: int) -> None:
    """The order itself is read from the worker's own socket, by the worker."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})  # no end is told before its start
    pid = os.fork()
    if pid:
        os.close(fd)
        os.close(ledger)
        with suppress(OSError):
            os.setpgid(pid, pid)  # its children end with it
        orders.sendall(f"forked {pid}\n".encode())
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
        return
    status = 1
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
        os.setpgid(0, 0)
        orders.close()
        from accelerator.gateway.workers.worker import serve

        serve(socket.socket(fileno=fd), ledger)
        status = 0
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _reap(orders: socket.socket, _number: int, _frame: object) -> None:
    """Reports workers' statuses, which the kernel gives to their parent alone."""
    with suppress(ChildProcessError, OSError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            orders.sendall(f"ended {pid} {status}\n".encode())


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])))
