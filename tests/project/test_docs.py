"""The documentation says what the program does."""

from __future__ import annotations

import doctest
import functools
import importlib
import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any
from xml.etree import ElementTree

import pytest
import typer
from typer.testing import CliRunner

from segapsith.cli import domains, output
from segapsith.cli.app import program
from segapsith.plugin.hookspecs import CommandHooks, PluginHooks
from segapsith.plugin.registry import load_plugins
from segapsith.settings import SETTINGS
from segapsith.testing import CHECKS

ROOT = Path(__file__).parents[2]
LOG = ROOT / "docs" / "research" / "log"
"""Notebooks: they name commands as they were."""

REFERENCE = ROOT / "docs" / "reference"

PAGES = [
    *sorted(ROOT.glob("*.md")),
    *(page for page in sorted((ROOT / "docs").rglob("*.md")) if LOG not in page.parents),
]


def _script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def docs() -> ModuleType:
    return _script("docs")


@pytest.mark.parametrize(
    "name", ["cli.md", "settings.md", "exit-codes.md", "store.md", "http.md", "json.md"]
)
def test_generated_pages_are_fresh(docs: ModuleType, name: str) -> None:
    page = (REFERENCE / name).read_text("utf-8")
    assert page == docs.PAGES[name](), "run scripts/docs.py"


def test_manual_pages_are_fresh_and_complete(docs: ModuleType) -> None:
    stored = {path.name: path.read_text("utf-8") for path in docs.MANUAL.glob("*")}
    assert stored == docs.manual_pages(), "run scripts/docs.py"
    commands = re.findall(
        r"^## (segapsith .+)$", (REFERENCE / "cli.md").read_text("utf-8"), re.MULTILINE
    )
    assert {name.replace(" ", "-") + ".1" for name in commands} | {"segapsith.1"} == stored.keys()


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed")
def test_manual_pages_are_without_fault_for_groff(docs: ModuleType) -> None:
    pages = sorted(docs.MANUAL.glob("*.1"))
    answer = subprocess.run(
        ["groff", "-man", "-Kutf8", "-Tutf8", "-ww", "-z", *map(str, pages)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert answer.stderr == ""


@functools.cache
def _commands() -> Mapping[str, Any]:
    return program(only_own=True).commands


def test_every_command_is_in_the_reference() -> None:
    page = (REFERENCE / "cli.md").read_text("utf-8")
    for name in _commands():
        assert f"## segapsith {name}\n" in page


def _blocks(page: Path) -> list[str]:
    """The commands in the shell blocks of a page, one line each."""
    text = page.read_text("utf-8")
    blocks = re.findall(r"^```(?:sh|console)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return [line for block in blocks for line in block.splitlines()]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_commands_and_options_in_the_pages_exist(page: Path) -> None:
    commands = _commands()
    for line in _blocks(page):
        for words in re.findall(r"(?:^|[ /])segapsith ([a-z][^|#;&>)]*)", line):
            name, *rest = words.split()
            assert name in commands, line
            command: Any = commands[name]
            if rest and rest[0] in getattr(command, "commands", {}):
                command = command.commands[rest[0]]
            known = {o for p in command.params for o in (*p.opts, *p.secondary_opts)}
            used = {word.partition("=")[0] for word in rest if word.startswith("-") and word != "-"}
            assert used <= known | {"--help"}, line


# -- the site --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def nav() -> list[str]:
    """The pages of the site, in the order in which previous and next lead through them."""
    text = (ROOT / "docs" / "site" / "mkdocs.yml").read_text("utf-8")
    return re.findall(r"^ +- (?:[\w ]+: )?(\S+\.md)$", text.partition("\nnav:\n")[2], re.MULTILINE)


def test_every_page_is_in_the_navigation_once(nav: list[str]) -> None:
    """A new page gets a line in `nav` of docs/site/mkdocs.yml, where previous and next find it."""
    docs = ROOT / "docs"
    pages = {page.relative_to(docs).as_posix() for page in PAGES if docs in page.parents}
    in_nav = {name for name in nav if (docs / name).exists()}
    apart = {name for name in pages if name.startswith("decisions/")}  # linked by architecture.md
    assert sorted(pages - apart - in_nav) == [], "add these pages to nav in docs/site/mkdocs.yml"
    assert len(nav) == len(set(nav))


@pytest.mark.parametrize(
    "page", [page for page in PAGES if ROOT / "docs" in page.parents], ids=lambda page: page.stem
)
def test_every_page_opens_with_who_it_is_for(page: Path) -> None:
    title, _, first = page.read_text("utf-8").partition("\n\n")
    assert title.startswith("# ") and "\n" not in title
    assert page.parent.name == "decisions" or first.startswith("For "), "say who the page is for"


def test_the_picture_is_sound_and_stands_alone() -> None:
    text = (ROOT / "docs" / "images" / "line.svg").read_text("utf-8")
    tree = ElementTree.fromstring(text)
    assert tree.tag.endswith("svg")
    assert not any(e.tag.endswith(("script", "image", "foreignObject")) for e in tree.iter())
    assert "prefers-color-scheme: dark" in text


def test_the_recipe_that_opens_a_store_works(tmp_path: Path) -> None:
    """The Python block of store.md, run as it stands beside a small store."""
    import segapsith

    texts = ("The flood rose over the river bank.", "The river flood reached the old bridge.")
    with segapsith.open(tmp_path / "wire.db", lang="en", segmenter="none") as wire:
        wire.ingest([{"id": str(n), "text": text * 9} for n, text in enumerate(texts)])
        (best, *_) = wire.domains()
    page = (REFERENCE / "store.md").read_text("utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    answer = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    shown = {line.split()[0]: float(line.split()[1]) for line in answer.stdout.splitlines()}
    assert shown == pytest.approx(
        {w["word"]: w["weight"] for w in best["words"] if w["word"] in shown}, abs=1e-3
    )


def _squeezed(text: str) -> str:
    """A text without white space, times and today's date: wrapping and columns do not matter."""
    text = re.sub(r"\b20\d\d-(?!03)\d\d-\d\d(?: \d\d:\d\d)?", "DATE", text)  # not of the sample
    return re.sub(r",\d+\.\ds$", "", "".join(text.split()))


PAGES_OF_COMMANDS = [
    "README.md",
    "docs/tutorial.md",
    *(
        page.relative_to(ROOT).as_posix()
        for folder in ("guides", "operations")
        for page in sorted((ROOT / "docs" / folder).glob("*.md"))
        if "```text\n" in page.read_text("utf-8")
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES_OF_COMMANDS)
def test_commands_print_what_the_page_shows(
    name: str, command: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Commands of a page run in order, as on a terminal of 100 columns; each prints what follows.

    A block of TOML is the configuration file, and `cat` prints a file.
    """
    for module in (domains, output):
        monkeypatch.setattr(module, "on_terminal", lambda: True)
    monkeypatch.setattr(output, "_columns", lambda: 100)
    text = (ROOT / name).read_text("utf-8")
    printed, compared = "", 0
    for kind, block in re.findall(r"^```(sh|text|toml)\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        if kind == "toml":
            Path("segapsith.toml").write_text(block, "utf-8")
        elif kind == "text":
            for line in block.splitlines():
                shown = _squeezed(line).partition("…")[0]
                assert shown in _squeezed(printed), line
                compared += 1
        else:
            printed = "".join(_printed(line, command) for line in block.splitlines())
    assert compared >= (1 if "/" in name.removeprefix("docs/") else 5)


def _printed(line: str, command: Callable[..., tuple[int, str, str]]) -> str:
    """Return what a command of a page prints; other programs than ours are not run."""
    if " | segapsith " in line:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            ["sh", "-c", line], check=True, capture_output=True, text=True,
            env={**os.environ, "PATH": path},
        )  # fmt: skip
        return done.stdout
    program, *arguments = shlex.split(line)
    if program in {"head", "mkdir", "tail"}:
        subprocess.run(["sh", "-c", line], check=True)
        return ""
    if program == "cat":
        return "".join(Path(name).read_text("utf-8") for name in arguments)
    if not program.endswith("segapsith"):
        return ""
    local = [str(ROOT / a) if a.startswith("segapsith/") else a for a in arguments]
    code, out, _ = command(*local)
    assert code == 0
    return out


GUIDES = [
    page
    for page in sorted((ROOT / "docs").rglob("*.md"))
    if "```python\n>>>" in page.read_text("utf-8")
]


def test_the_messages_of_the_page_on_troubles_are_in_the_program() -> None:
    page = (ROOT / "docs" / "operations" / "troubleshooting.md").read_text("utf-8")
    messages = re.findall(r"^\| `([^`]+)` \|", page.partition("## By message")[2], re.MULTILINE)
    sources = "".join(
        path.read_text("utf-8")
        for folder in ("segapsith", "store", "plugins")
        for path in (ROOT / folder).rglob("*.py")
    )
    assert len(messages) >= 5
    assert [message for message in messages if message not in sources] == []


def _docs() -> str:
    return "".join(page.read_text("utf-8") for page in PAGES if ROOT / "docs" in page.parents)


def test_every_setting_that_a_page_sets_exists() -> None:
    text = "".join(page.read_text("utf-8") for page in PAGES if page.name != "formulas.md")
    named = set(re.findall(r"`([a-z]+(?:_[a-z]+)+) = ", text))
    named |= {name.lower() for name in re.findall(r"SEGAPSITH_([A-Z_]+)=", text)}
    assert len(named) >= 3
    assert (
        sorted(named - SETTINGS.keys() - {"learned_rows_only", "unit_diagonal", "takes_views"})
        == []
    )


def test_every_hook_that_a_page_names_exists_and_every_hook_is_named() -> None:
    named = set(re.findall(r"\bregister_[a-z]+\b", _docs()))
    hooks = {name for kind in (PluginHooks, CommandHooks) for name in vars(kind)}
    assert named == {name for name in hooks if name.startswith("register_")}


NAME = re.compile(r"`(segapsith(?:\.[A-Za-z_]\w*)+)")


def test_every_python_name_in_the_pages_exists() -> None:
    for name in sorted(set(NAME.findall(_docs()))):
        if name in ("segapsith.toml", "segapsith.db", "segapsith.commands", "segapsith.prom"):
            continue
        found: Any = importlib.import_module("segapsith")
        path = "segapsith"
        for part in name.split(".")[1:]:
            path = f"{path}.{part}"
            if not hasattr(found, part):
                importlib.import_module(path)
            found = getattr(found, part)


def test_every_promised_name_is_in_the_reference() -> None:
    """The overview names a call, or a page of the reference takes it from its docstring."""
    import segapsith

    reference = "".join(page.read_text("utf-8") for page in (REFERENCE).rglob("*.md"))
    taken = re.findall(r"^::: (\S+)$", reference, re.MULTILINE)
    modules = [sys.modules.get(name) or _module(name) for name in taken]
    known = {name for module in modules for name in vars(module)} | set(
        re.findall(r"\w+", reference)
    )
    assert sorted(set(segapsith.__all__) - known) == []


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        home, _, attribute = name.rpartition(".")
        return getattr(importlib.import_module(home), attribute)


def test_every_alarm_has_a_section_with_what_to_do() -> None:
    page = (ROOT / "docs" / "operations" / "alarms.md").read_text("utf-8")
    code = (ROOT / "segapsith" / "operations" / "alarms.py").read_text("utf-8")
    names = set(re.findall(r'Alarm\(\s*"([a-z-]+)"', code))
    assert len(names) >= 4
    assert set(re.findall(r"^## ([a-z-]+)$", page, re.MULTILINE)) == names


EXAMPLES = [
    page
    for page in sorted((ROOT / "docs" / "plugins").glob("*.md"))
    if "@hookimpl" in page.read_text("utf-8") and page.stem not in ("tutorial", "languages")
]


@pytest.mark.slow
@pytest.mark.parametrize("page", EXAMPLES, ids=lambda page: page.stem)
def test_the_example_of_a_hook_keeps_its_contract(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    (code,) = [block for block in blocks if "@hookimpl" in block]
    name = f"example_of_{page.stem}"
    (tmp_path / f"{name}.py").write_text(code, "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module(name)
    (offer,) = load_plugins(module, installed=False).offers.values()
    for check in CHECKS[offer.kind]:
        check(offer.factory)


def test_the_example_of_a_language_is_a_pack(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (ROOT / "docs" / "plugins" / "languages.md").read_text("utf-8")
    (code,) = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    (tmp_path / "example_of_a_language.py").write_text(code, "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("example_of_a_language")
    registry = load_plugins(module, installed=False)
    assert not registry.problems
    (pack,) = (make() for make in module.register_languages().values())
    assert (pack.code, pack.name) == ("hr", "Croatian") and "je" in pack.stop_words


def test_the_example_of_a_command_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import segapsith

    with segapsith.open(tmp_path / "wire.db", lang="en", segmenter="none") as wire:
        wire.ingest([{"id": "a", "text": "The flood rose over the river."}])
    page = (ROOT / "docs" / "plugins" / "commands.md").read_text("utf-8")
    *_, code = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    (tmp_path / "example_of_a_command.py").write_text(code, "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("example_of_a_command")
    app = typer.Typer()
    app.command("other")(lambda: None)  # with one command, its name would be left out
    module.register_commands(app)
    answer = CliRunner().invoke(app, ["headlines", "--store", str(tmp_path / "wire.db")])
    assert (answer.exit_code, answer.output) == (0, "The flood rose over the river\n")


NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_from_top_to_bottom(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cells of code run in order in an empty directory; their asserts hold."""
    monkeypatch.chdir(tmp_path)
    cells = json.loads(path.read_text("utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert len(code) >= 3
    answer = subprocess.run(
        [sys.executable, "-c", "\n".join(code)], capture_output=True, text=True, check=False
    )
    assert answer.returncode == 0, answer.stderr


@pytest.mark.slow
@pytest.mark.parametrize("page", GUIDES, ids=lambda p: p.name)
def test_examples_of_the_guides_print_what_they_show(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The Python blocks of a guide run in order, in an empty directory."""
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(
        r"^```python\n(>>>.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    test = doctest.DocTestParser().get_doctest("".join(blocks), {}, page.name, str(page), 0)
    assert doctest.DocTestRunner(verbose=False).run(test) == (0, len(test.examples))


RUN_AS_THEY_ARE = ("docs/guides/export.md", "docs/reference/python.md")
RUN_ELSEWHERE = (
    "docs/plugins/testing.md",  # below, on the measure of the tutorial
    "docs/plugins/commands.md",  # test_the_example_of_a_command_works
    "docs/reference/store.md",  # test_the_recipe_that_opens_a_store_works
)


def _programs(page: Path) -> list[str]:
    """The Python blocks of a page that are programs: no doctest, no plugin, no list of signatures."""
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    return [
        block
        for block in blocks
        if "import " in block and "@hookimpl" not in block and not block.startswith(">>>")
    ]


def test_every_program_of_a_page_is_run_by_a_test() -> None:
    with_programs = {p.relative_to(ROOT).as_posix() for p in PAGES if _programs(p)}
    assert with_programs == {*RUN_AS_THEY_ARE, *RUN_ELSEWHERE}


@pytest.mark.slow
@pytest.mark.parametrize("name", RUN_AS_THEY_ARE)
def test_a_program_of_a_page_runs(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (program_text,) = _programs(ROOT / name)
    exec(compile(program_text, name, "exec"), {})
    assert capsys.readouterr().out and (tmp_path / "wire.db").exists()


@pytest.mark.slow
def test_the_test_on_the_page_on_testing_passes_for_the_measure_of_the_tutorial() -> None:
    plugins = ROOT / "docs" / "plugins"
    (measure,) = re.findall(
        r"^```python\n(.*?)^```",
        (plugins / "tutorial.md").read_text("utf-8"),
        re.MULTILINE | re.DOTALL,
    )
    names: dict[str, Any] = {}
    for text in (measure, *_programs(plugins / "testing.md")):
        exec(compile(text, "page", "exec"), names)
    for check in names["similarity_checks"]:
        names["test_it_keeps_the_contract"](check)


def test_every_test_that_a_page_names_exists() -> None:
    """Pages for engineers name the tests behind a promise as `tests/file.py::name`."""
    named = set(re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", _docs()))
    assert len(named) > 20
    missing = {
        f"{path}::{name}"
        for path, name in named
        if not re.search(rf"^def {name}\(", (ROOT / path).read_text("utf-8"), re.MULTILINE)
    }
    assert missing == set()


@pytest.mark.parametrize(
    ("name", "command"),
    [("report", "./scripts/pictures"), ("web", ".venv/bin/python scripts/pictures_web.py")],
)
def test_no_picture_is_older_than_what_it_shows(name: str, command: str) -> None:
    sources = _script("picture_sources")
    noted = json.loads(sources.NOTES.read_text("utf-8"))
    assert noted[name] == sources.hash_of(name), f"make the pictures again: {command}"


def test_the_pictures_of_the_worked_example_show_what_the_program_computes() -> None:
    steps = _script("pictures_steps")
    page = (ROOT / "docs" / "concepts" / "how-it-learns.md").read_text("utf-8")
    assert all(f'"{text}"' in page for text in steps.TEXTS)
    for name, picture in steps.drawn().items():
        assert (steps.IMAGES / name).read_text("utf-8") == picture, "scripts/pictures_steps.py"
        assert f"images/{name}" in page


@pytest.mark.slow
def test_the_curve_of_the_page_on_segmentation_is_that_of_the_program() -> None:
    steps = _script("pictures_steps")
    curve = steps.curve_of_digest()
    assert (steps.IMAGES / "segmentation.svg").read_text("utf-8") == curve
    assert curve.count('class="cut"') == 2
