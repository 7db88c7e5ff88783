"""`plugins new`: begin a plugin project."""

from __future__ import annotations

import keyword
import re
from pathlib import Path
from typing import Annotated

import typer

from segapsith.cli.context import Context, command
from segapsith.cli.output import Output, write
from segapsith.errors import UsageError, did_you_mean

__all__ = ["KINDS", "Kind", "add_to", "checked_kind", "new_project"]

KINDS = (
    "source", "annotator", "segmenter", "similarity", "clusterer", "comparison", "exporter",
    "labeller", "notifier", "executor",
)  # fmt: skip

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
MAX_NAME_CHARS = 40

Kind = Annotated[
    str | None, typer.Option("--kind", metavar="KIND", help=f"One of {', '.join(KINDS)}.")
]


def add_to(plugins: typer.Typer) -> None:
    plugins.command("new")(new)


def checked_kind(kind: str | None) -> str:
    """Return the kind of a plugin; raise an error if there is no such kind."""
    if kind not in KINDS:
        hint = did_you_mean(kind or "", KINDS)
        raise UsageError(f"--kind {kind or ''!r} should be one of {', '.join(KINDS)}{hint}")
    return kind


@command()
def new(
    context: Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Lower case, with hyphens.")],
    *,
    kind: Kind = None,
    into: Annotated[
        Path, typer.Option("--into", metavar="DIR", help="Where to create the project.")
    ] = Path(),
) -> None:
    """Begin a plugin project.

    It has a working example, tests, a CI file and a README.

    Example: segapsith plugins new my-measure --kind similarity
    """
    folder, files = new_project(name, checked_kind(kind), into)

    def text(out: Output) -> None:
        for file in files:
            write(str(folder / file))
        out.say(f"next: pip install -e {folder}")
        out.say(f"then: segapsith plugins check {name} --kind {kind}")

    context.show({"name": name, "kind": kind, "path": str(folder), "files": files}, text)


def new_project(name: str, kind: str, into: Path) -> tuple[Path, list[str]]:
    """Write the project below `into`; return its folder and its files. Overwrite nothing."""
    from importlib.resources import files
    from string import Template

    from segapsith.plugin.hookspecs import HOOKS
    from segapsith.plugin.registry import load_plugins

    _check_name(name)
    taken = load_plugins().offers.get((kind, name))
    if taken is not None:
        raise UsageError(f"the {kind} {name!r} is there already, from package {taken.package}")
    folder = into / f"segapsith-{name}"
    module = f"segapsith_{name.replace('-', '_')}"
    values = {
        "name": name,
        "kind": kind,
        "hook": HOOKS[kind],
        "module": module,
        "class_name": "".join(part.capitalize() for part in name.split("-")),
    }
    templates = files("segapsith.cli") / "plugin_project"
    templates_of = {
        ".github/workflows/ci.yml": "ci.yml.txt",
        ".gitignore": "gitignore.txt",
        "README.md": "README.md.txt",
        "pyproject.toml": "pyproject.toml.txt",
        f"src/{module}/__init__.py": f"{kind}.py.txt",
        f"src/{module}/py.typed": "py.typed.txt",
        f"tests/test_{module.removeprefix('segapsith_')}.py": "test.py.txt",
    }
    try:
        into.mkdir(parents=True, exist_ok=True)
        folder.mkdir()
    except FileExistsError as error:
        raise UsageError(f"{error.filename} is there already; nothing was written") from error
    for path, template in templates_of.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        text = Template((templates / template).read_text("utf-8")).substitute(values)
        target.write_text(text, "utf-8")
    return folder, sorted(templates_of)


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name) or len(name) > MAX_NAME_CHARS or keyword.iskeyword(name):
        raise UsageError(
            f"the name {name!r} should be lower case letters and digits with single hyphens,"
            f" like my-measure, and have at most {MAX_NAME_CHARS} characters"
        )
    if name.startswith("segapsith"):
        raise UsageError(f"the name {name!r} should not begin with segapsith: the package will")
