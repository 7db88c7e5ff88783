"""The list of plugins, and the page for authors."""

from __future__ import annotations

import importlib
import inspect
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

import segapsith
from segapsith.cli.app import run
from segapsith.plugin import contracts
from segapsith.plugin.contracts import KINDS
from segapsith.plugin.hookspecs import HOOKS, CommandHooks, PluginHooks
from segapsith.plugin.registry import load_plugins
from segapsith.testing import similarity_checks

PAGES = {
    path.stem: path.read_text("utf-8")
    for path in sorted((Path(__file__).parents[2] / "docs" / "plugins").glob("*.md"))
}


def test_the_list_is_still_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plugins", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {"name", "kind", "package", "version", "licence", "error"} == rows[0].keys()
    assert run(["--json", "plugins", "--no-plugins"]) == 0


def test_every_contract_can_be_imported_from_the_package() -> None:
    for protocol in KINDS.values():
        assert getattr(segapsith, protocol.__name__) is protocol
        assert protocol.__name__ in segapsith.__all__


# -- the page ------------------------------------------------------------------------------


def signature(function: Any) -> str:
    """A signature as the page writes it: without self, annotations as they stand."""
    found = inspect.signature(function)
    parameters = [p for p in found.parameters.values() if p.name != "self"]
    return f"{function.__name__}{found.replace(parameters=parameters)}".replace("'", "")


METHODS = [
    method
    for protocol in KINDS.values()
    for name, method in vars(protocol).items()
    if inspect.isfunction(method) and not name.startswith("_")
]
HOOK_METHODS = [
    hook
    for hooks in (PluginHooks, CommandHooks)
    for name, hook in vars(hooks).items()
    if name.startswith("register_")
]


def test_the_pages_have_every_hook_and_method_with_its_exact_signature() -> None:
    documented = {line for page in PAGES for block in blocks(page) for line in block.splitlines()}
    assert len(HOOK_METHODS) == len(HOOKS) + 2 and len(METHODS) == 15
    missing = [s for s in map(signature, HOOK_METHODS + METHODS) if s not in documented]
    assert not missing
    assert "bounds: tuple[float, float]" in documented
    assert isinstance(vars(contracts.Similarity)["bounds"], property)


def blocks(page: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", PAGES[page], re.MULTILINE | re.DOTALL)


def test_the_measure_on_the_page_is_short_and_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = blocks("tutorial")[0]
    assert len([line for line in code.splitlines() if line.strip()]) <= 20
    (tmp_path / "measure_of_the_page.py").write_text(code, "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    page = importlib.import_module("measure_of_the_page")
    monkeypatch.delitem(sys.modules, "measure_of_the_page")
    (offer,) = load_plugins(page, installed=False).offers.values()
    assert (offer.kind, offer.name) == ("similarity", "overlap-share")
    for check in similarity_checks:
        check(offer.factory)


def test_the_page_on_testing_names_every_tuple_of_checks() -> None:
    for kind in KINDS:
        assert f"`{kind}_checks`" in PAGES["testing"]


def test_every_hook_has_a_page() -> None:
    pages = {hook.__name__.removeprefix("register_") for hook in HOOK_METHODS}
    assert pages <= PAGES.keys()
