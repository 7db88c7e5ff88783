"""A headless Chromium, spoken to in the W3C's WebDriver protocol; no library is needed for it."""

from __future__ import annotations

import base64
import json
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, Self

DRIVERS = ("chromedriver",)
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")


def found() -> tuple[str, str] | None:
    """The driver and the browser, if both are installed."""
    driver = next(filter(None, map(shutil.which, DRIVERS)), None)
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    return (driver, browser) if driver and browser else None


class Browser:
    """One window of a headless browser."""

    def __init__(self, driver: str, browser: str) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        self._process = subprocess.Popen(
            [driver, f"--port={self._port}", "--silent"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._session = ""
        try:
            self._start(browser)
        except BaseException:
            self.close()
            raise

    def _start(self, browser: str) -> None:
        options = {
            "binary": browser,
            "args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
        }
        wanted = {
            "browserName": "chrome",
            "goog:chromeOptions": options,
            "goog:loggingPrefs": {"browser": "ALL"},
        }
        until = time.monotonic() + 20
        while True:
            try:
                value = self._ask("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
                break
            except OSError:
                if time.monotonic() > until or self._process.poll() is not None:
                    raise
                time.sleep(0.05)
        self._session = f"/session/{value['sessionId']}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        try:
            if self._session:
                self._ask("DELETE", self._session)
        finally:
            self._process.terminate()
            self._process.wait(10)

    def _ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        request = urllib.request.Request(
            f"http://127.0.0.1:{self._port}{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            with error:
                said = error.read().decode()[:500]
            raise RuntimeError(said) from None

    def open(self, page: Path) -> None:
        self._ask("POST", f"{self._session}/url", {"url": page.resolve().as_uri()})

    def run(self, script: str) -> Any:
        """What a script returns; scripts of the driver are not bound by the page's policy."""
        return self._ask("POST", f"{self._session}/execute/sync", {"script": script, "args": []})

    def _chromium(self, command: str, **parameters: Any) -> Any:
        body = {"cmd": command, "params": parameters}
        return self._ask("POST", f"{self._session}/goog/cdp/execute", body)

    def resize(self, width: int, height: int = 900) -> None:
        self._chromium(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=False,
        )  # fmt: skip

    def prefer(self, scheme: str, media: str = "") -> None:
        """`light` or `dark`; `media` may be `print`."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self._chromium("Emulation.setEmulatedMedia", media=media, features=features)

    def press(self, key: str, code: int) -> None:
        for kind in ("keyDown", "keyUp"):
            self._chromium(
                "Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code
            )

    def said(self) -> list[str]:
        """What the console holds, and empties it."""
        entries = self._ask("POST", f"{self._session}/se/log", {"type": "browser"})
        return [entry["message"] for entry in entries]

    def picture(self, whole: bool = False) -> bytes:
        shot = self._chromium("Page.captureScreenshot", captureBeyondViewport=whole)
        return base64.b64decode(shot["data"])
