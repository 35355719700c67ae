"""A real Chromium, driven through its own driver's HTTP interface (W3C WebDriver)."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
KEYS = {"Escape": "\ue00c", "ArrowDown": "\ue015", "Enter": "\ue007", "Tab": "\ue004"}
_WAIT_MS = 20_000


class Browser:
    """One window. Scripts are functions' bodies; what they return comes back as JSON values."""

    def __init__(self, driver: str, *, dark: bool, width: int) -> None:
        arguments = ["--headless=new", "--no-sandbox", "--window-size=1400,900"]
        arguments += [f"--user-data-dir={tempfile.mkdtemp(prefix='browser-')}"]
        options = {"binary": CHROMIUM, "args": arguments}
        logs = {"browser": "ALL"}
        wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": logs}
        self._base = driver
        made = self._say("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self._base = f"{driver}/session/{made['sessionId']}"
        self._say("POST", "/timeouts", {"script": _WAIT_MS})
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._tell("Emulation.setEmulatedMedia", {"features": [scheme]})
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self._tell("Emulation.setDeviceMetricsOverride", size)

    def _say(self, method: str, path: str, body: object = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._base + path, data, method=method)
        with urllib.request.urlopen(request) as response:
            return json.loads(response.read())["value"]

    def _tell(self, command: str, parameters: object) -> None:
        """A command of Chromium's own."""
        self._say("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def open(self, url: str) -> None:
        """Goes there."""
        self._say("POST", "/url", {"url": url})

    def run(self, script: str) -> Any:
        """What the script returns."""
        return self._say("POST", "/execute/sync", {"script": script, "args": []})

    def wait(self, condition: str) -> Any:
        """The value of that expression, once it's true; an error where it never is."""
        script = f"""const done = arguments[arguments.length - 1];
            const look = () => {{
                const found = {condition};
                if (found) done(found); else setTimeout(look, 30);
            }};
            look();
        """
        return self._say("POST", "/execute/async", {"script": script, "args": []})

    def click(self, selector: str) -> None:
        """Clicks on the first element of that selector."""
        element = self._say("POST", "/element", {"using": "css selector", "value": selector})
        self._say("POST", f"/element/{next(iter(element.values()))}/click", {})

    def press(self, *keys: str) -> None:
        """Presses keys, one after the other, wherever the focus is."""
        actions = [
            {"type": kind, "value": KEYS.get(key, key)}
            for key in keys
            for kind in ("keyDown", "keyUp")
        ]
        self._say("POST", "/actions", {"actions": [{"type": "key", "id": "k", "actions": actions}]})

    def complaints(self) -> list[str]:
        """What the console has said: errors of scripts, what a policy has blocked."""
        return [one["message"] for one in self._say("POST", "/se/log", {"type": "browser"})]

    def close(self) -> None:
        """Ends it."""
        self._say("DELETE", "")


@contextmanager
def browsing(*, dark: bool = False, width: int = 1400) -> Iterator[Browser]:
    """A browser with its driver."""
    assert DRIVER is not None
    process = subprocess.Popen([DRIVER, "--port=0"], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        ports = (re.search(r"successfully on port (\d+)", line) for line in process.stdout)
        port = next(found[1] for found in ports if found)
        browser = Browser(f"http://127.0.0.1:{port}", dark=dark, width=width)
        try:
            yield browser
        finally:
            browser.close()
    finally:
        process.terminate()
        process.communicate()
