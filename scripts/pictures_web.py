#!/usr/bin/env python
"""Make the pictures of docs/guides/web.md: pages of the bundled sample in a headless Chromium.

    .venv/bin/python scripts/pictures_web.py

Needs `chromium` and `chromedriver`. Run it again after a change to the pages.
"""

from __future__ import annotations

import base64
import shutil
import tempfile
import threading
from pathlib import Path

import picture_sources
import uvicorn
from selenium import webdriver

from segapsith import web
from segapsith.api.wire import Wire
from segapsith.demo import sample
from segapsith.web.serving import bound

TOKEN = "a-token-for-the-pictures"
IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"
PICTURES = {
    "web-today": ("/", "light", 900),
    "web-domain": ("/domains/{}", "dark", 1150),
    "web-search": ("/search?q=court", "light", 1000),
}
WIDTH, MOST_BYTES = 1100, 200_000


def sample_store(path: Path) -> int:
    """Write a store with two deliveries of the sample; return its largest English domain."""
    with Wire(path) as wire:
        items = [{**item, "lang": lang} for lang in ("en", "fr") for item in sample.lines(lang)]
        items.sort(key=lambda item: item.get("date") or "")
        cut = 3 * len(items) // 4
        wire.ingest(items[:cut])
        wire.ingest(items[cut:])
        wire.sections(limit=0)
        wire.validate(min_units=2, lang="en")
        return wire.domains(limit=1, lang="en")[0].id


def main() -> None:
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for argument in ("headless=new", "no-sandbox", "disable-gpu", "hide-scrollbars", "lang=en"):
        options.add_argument(f"--{argument}")
    with tempfile.TemporaryDirectory() as folder:
        domain = sample_store(Path(folder) / "wire.db")
        listener = bound("127.0.0.1", 0)
        application = web.app(Path(folder) / "wire.db", token=TOKEN)
        server = uvicorn.Server(uvicorn.Config(application, log_level="error", lifespan="off"))
        threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True).start()
        root = f"http://127.0.0.1:{listener.getsockname()[1]}"
        browser = webdriver.Chrome(
            options=options, service=webdriver.ChromeService(shutil.which("chromedriver"))
        )
        browser.get(f"{root}/?token={TOKEN}")
        for name, (path, scheme, height) in PICTURES.items():
            feature = {"name": "prefers-color-scheme", "value": scheme}
            browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
            metrics = {"width": WIDTH, "height": height, "deviceScaleFactor": 1, "mobile": False}
            browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
            browser.get(f"{root}{path.format(domain)}")
            shot = browser.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})
            content = base64.b64decode(shot["data"])
            assert len(content) < MOST_BYTES, f"{name}: {len(content)} bytes"
            (IMAGES / f"{name}.png").write_bytes(content)
            print(f"docs/images/{name}.png: {len(content)} bytes")
        browser.quit()
        server.should_exit = True
    picture_sources.note("web")


if __name__ == "__main__":
    main()
