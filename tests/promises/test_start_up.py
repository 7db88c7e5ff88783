"""What only reads a store starts quickly: it loads no compiler, no SciPy and no dictionary.

A command loads neither the other commands nor those of plugins, and no library that validates
options or locks files.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from segapsith.api.wire import Wire
from segapsith.demo import sample
from segapsith.settings import resolve

pytestmark = pytest.mark.slow

HEAVY = ("numba", "scipy", "spacy", "simplemma")

NOT_NEEDED = ("pydantic", "filelock", "segapsith_reproduce", "segapsith.cli.ingest")
"""What commands that only read do not load either."""

COMMANDS = (
    "status",
    "domains",
    "show 1",
    "search oil",
    "today",
    "sections --kept",
    "topics --kept",
    "events",
    "runs",
    "cite",
)

PAGES = (
    "/", "/sections", "/topics", "/domains", "/domains/1", "/events", "/search?q=oil", "/timeline",
    "/validation", "/runs", "/feeds", "/watch", "/cite", "/api/v1/status", "/api/v1/domains",
)  # fmt: skip

RUN_COMMANDS = """
import json, sys
from segapsith.cli.app import run
store, commands, heavy = sys.argv[1], json.loads(sys.argv[2]), json.loads(sys.argv[3])
for command in commands:
    code = run([*command.split(), "--json", "--store", store])
    loaded = [name for name in heavy if name in sys.modules]
    assert code == 0 and not loaded, (command, code, loaded)
"""

SERVE_PAGES = """
import json, sys
from starlette.testclient import TestClient
from segapsith import web
store, pages, heavy = sys.argv[1], json.loads(sys.argv[2]), json.loads(sys.argv[3])
bearer = {"authorization": "Bearer a-token-for-the-tests"}
with TestClient(web.app(store, token="a-token-for-the-tests"), "http://127.0.0.1:8787", headers=bearer) as client:
    for page in pages:
        status = client.get(page).status_code
        loaded = [name for name in heavy if name in sys.modules]
        assert status == 200 and not loaded, (page, status, loaded)
"""


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The path of a store with stories, topics and sections."""
    path = tmp_path_factory.mktemp("start") / "wire.db"
    with Wire(path, resolve({}, environment={})) as wire:
        wire.ingest([{**item, "lang": "en"} for item in sample.lines("en")[:40]])
        wire.sections(limit=0)
    return path


def _run(code: str, store: Path, given: tuple[str, ...], heavy: tuple[str, ...] = HEAVY) -> None:
    arguments = [str(store), json.dumps(given), json.dumps(heavy)]
    subprocess.run([sys.executable, "-c", code, *arguments], check=True, cwd=store.parent)


def test_commands_that_only_read_load_nothing_heavy(stored: Path) -> None:
    _run(RUN_COMMANDS, stored, COMMANDS, HEAVY + NOT_NEEDED)


def test_pages_of_the_web_application_load_nothing_heavy(stored: Path) -> None:
    pytest.importorskip("starlette")
    _run(SERVE_PAGES, stored, PAGES)
