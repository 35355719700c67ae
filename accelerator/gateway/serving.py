"""A gateway from its start to its end: in the foreground until a signal, or in a thread.

At the end new statements are told to come back, those that run have some time, and then everything
goes: a gateway leaves no process behind.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from accelerator.common.config.config import Config
from accelerator.errors import AcceleratorError, ConfigError
from accelerator.gateway.gateway import Gateway
from accelerator.gateway.http.trino_server import Server
from accelerator.gateway.settings import GatewaySettings

_DRAIN_S = 30.0
"""What runs at the end has so long."""
_LOOK_S = 0.05


async def _serve(
    config: Config,
    settings: GatewaySettings,
    ready: Callable[[str, Gateway], None],
    stop: asyncio.Event,
    drain_s: float,
    file: Path | None = None,
) -> None:
    settings.check_open()
    gateway = Gateway(config, settings, file)
    server = Server(gateway, tls=None if gateway.tls is None else gateway.tls.context)
    try:
        await gateway.start()
        try:
            port = await server.start()
        except OSError as error:
            raise ConfigError(
                f"the gateway can't listen at {settings.host}:{settings.port}: {error.strerror}",
                hint="choose a free port, and an address of this machine",
            ) from error
        scheme = "http" if settings.tls_certificate is None else "https"
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        ready(f"{scheme}://{host}:{port}", gateway)
        await stop.wait()
        server.refuse_new()
        with suppress(TimeoutError):
            async with asyncio.timeout(drain_s):
                while any(not one.is_read for one in gateway.statements.values()):
                    await asyncio.sleep(_LOOK_S)
    finally:
        await server.close()
        await gateway.close()


def _tell_systemd(state: str) -> None:
    """Says it where a service of `Type=notify` waits for it; see sd_notify(3)."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if address[:1] not in ("/", "@"):
        return
    name = "\0" + address[1:] if address[0] == "@" else address
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told:
        told.connect(name)
        told.sendall(state.encode())


def _runner() -> asyncio.Runner:
    try:
        import uvloop
    except ImportError:
        return asyncio.Runner()
    return asyncio.Runner(loop_factory=uvloop.new_event_loop)


def serve(
    config: Config,
    settings: GatewaySettings,
    *,
    ready: Callable[[str], None] = lambda _url: None,
    file: Path | None = None,
) -> None:
    """Runs a gateway until SIGTERM or Ctrl-C; a second one ends it where it is.

    `ready` is called with its address once clients can ask. `file` has the settings. ConfigError if
    it can't start.
    """

    async def run() -> None:
        loop, stop, asked = asyncio.get_running_loop(), asyncio.Event(), 0

        def stopped() -> None:
            nonlocal asked
            asked += 1
            if asked > 1:
                os._exit(1)
            stop.set()

        for one in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(one, stopped)

        def begun(url: str, _gateway: Gateway) -> None:
            _tell_systemd("READY=1")
            ready(url)

        await _serve(config, settings, begun, stop, _DRAIN_S, file)

    with _runner() as runner:
        runner.run(run())


class RunningGateway:
    """A gateway in a thread of this process; `url` is where clients find it. Ends with its `with`.

    Made by `start`.
    """

    def __init__(self, config: Config, settings: GatewaySettings) -> None:
        self.url = ""
        self.gateway: Gateway
        self._failed: list[BaseException] = []
        self._ready = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._thread = threading.Thread(
            target=self._run, args=(config, settings), name="gateway", daemon=True
        )
        self._thread.start()
        self._ready.wait()
        for error in self._failed:
            self._thread.join()
            raise error

    def _run(self, config: Config, settings: GatewaySettings) -> None:
        async def run() -> None:
            self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
            await _serve(config, settings, self._set_ready, self._stop, 0.0)

        try:
            with _runner() as runner:
                runner.run(run())
        except (AcceleratorError, OSError) as error:
            self._failed.append(error)
        finally:
            self._ready.set()

    def _set_ready(self, url: str, gateway: Gateway) -> None:
        self.url, self.gateway = url, gateway
        self._ready.set()

    def close(self) -> None:
        """Ends it and its workers; twice is as once."""
        if self._thread.is_alive() and self._loop is not None and self._stop is not None:
            with suppress(RuntimeError):  # it has just ended
                self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()


def start(config: Config, settings: GatewaySettings | None = None, **given: Any) -> RunningGateway:
    """Starts a gateway in a thread; it listens when this returns.

    Without `settings` they're the defaults with what is `given`, on a port that is free.
    ConfigError where it can't start.
    """
    return RunningGateway(config, settings or GatewaySettings(**({"port": 0} | given)))
