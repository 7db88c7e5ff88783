"""`serve` as people start it: the address first, and clear refusals."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

import segapsith
import segapsith.web
from segapsith.api.wire import Wire

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "wire.db"
    with Wire(path) as wire:
        wire.ingest([{"id": "a", "text": "A storm reached the coast.", "lang": "en"}])
    return path


@pytest.mark.slow
@pytest.mark.parametrize("as_json", [False, True])
def test_the_address_comes_first_and_works(store: Path, as_json: bool) -> None:
    command = [sys.executable, "-m", "segapsith", "serve", "--port", "0", "--store", str(store)]
    server = subprocess.Popen(
        [*command, *(["--json"] if as_json else [])],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert server.stdout is not None and server.stderr is not None
        if as_json:
            given = json.loads(server.stdout.readline())
            assert given.keys() == {"url", "token"} and given["url"].endswith(given["token"])
            address = given["url"]
        else:
            address = server.stderr.readline().strip()
        assert address.startswith("http://127.0.0.1:") and "/?token=" in address
        root, _, token = address.partition("/?token=")
        request = urllib.request.Request(
            f"{root}/api/v1/status", headers={"Authorization": f"Bearer {token}"}
        )
        with urllib.request.urlopen(request, timeout=20) as answer:
            assert json.loads(answer.read())["documents"] == 1
    finally:
        server.send_signal(signal.SIGTERM)
        _, rest = server.communicate(timeout=20)
    assert rest == "" and server.returncode == 143


def test_another_address_needs_a_token_file(command: Command, store: Path) -> None:
    code, _, err = command("serve", "--host", "0.0.0.0", "--store", str(store))
    assert code == 2 and "--token-file" in err


def test_a_missing_store_or_token_is_reported(
    command: Command, store: Path, tmp_path: Path
) -> None:
    assert command("serve", "--store", str(tmp_path / "none.db"))[0] == 66
    code, _, err = command("serve", "--store", str(store), "--token-file", str(tmp_path / "none"))
    assert code == 66 and "token file" in err


def test_without_the_extra_the_way_out_is_named(
    command: Command, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Importing the package again binds it anew in `segapsith`; restore that name as well.
    monkeypatch.setattr(segapsith, "web", segapsith.web, raising=False)
    for name in [name for name in sys.modules if name.startswith("segapsith.web")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "starlette", None)
    monkeypatch.setitem(sys.modules, "starlette.responses", None)
    code, _, err = command("serve", "--store", str(store))
    assert code == 78 and "segapsith[web]" in err
