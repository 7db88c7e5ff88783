"""What is published: complete, reproducible, installable, with locked dependencies."""

from __future__ import annotations

import configparser
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
SOURCES = {
    "segapsith": "segapsith",
    "segapsith_plugins": "plugins/segapsith_plugins",
    "segapsith_reproduce": "plugins/segapsith_reproduce",
    "segapsith_store": "store/segapsith_store",
}
TOP = (
    "pyproject.toml",
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "CITATION.cff",
    "LICENSE",
    "NOTICE",
)
SHIPPED = ("segapsith", "plugins", "store", "tests", "scripts", "docs", "requirements")
EPOCH = "1700000000"


def needed(*extras: str) -> list[Requirement]:
    """What pyproject.toml asks for: to build, to run, and for some extras."""
    project = PROJECT["project"]
    lines = [*PROJECT["build-system"]["requires"], *project["dependencies"]]
    for extra in extras:
        lines += project["optional-dependencies"][extra]
    requirements = [Requirement(line) for line in lines]
    others = [r for r in requirements if r.name != project["name"]]
    named = {extra for r in requirements if r.name == project["name"] for extra in r.extras}
    return others + [
        Requirement(line)
        for extra in sorted(named)
        for line in project["optional-dependencies"][extra]
    ]


def locked(name: str) -> dict[str, list[str]]:
    """The versions that a lock allows of each package (one for each range of Pythons)."""
    found: dict[str, list[str]] = {}
    for line in (ROOT / "requirements" / name).read_text("utf-8").splitlines():
        if match := re.match(r"([A-Za-z0-9._-]+)==([^\s;\\]+)", line):
            found.setdefault(canonicalize_name(match[1]), []).append(match[2])
    return found


# -- dependencies ----------------------------------------------------------------------------


CORE = frozenset(
    [
        "charset-normalizer",
        "feedparser",
        "filelock",
        "ftfy",
        "h11",
        "jinja2",
        "numba",
        "numpy",
        "pluggy",
        "py3langid",
        "scipy",
        "simplemma",
        "spacy",
        "sqlite-utils",
        "typer",
    ]
)
"""What `pip install segapsith` asks for; everything that plugs into other tools is an extra."""


def test_a_plain_installation_brings_nothing_of_the_extras() -> None:
    assert {requirement.name for requirement in needed()} - CORE == {"hatchling"}
    optional = {
        canonicalize_name(Requirement(line).name)
        for extra, lines in PROJECT["project"]["optional-dependencies"].items()
        for line in lines
        if extra != "dev"
    }
    assert sorted(optional & set(locked("lock.txt"))) == []


def test_what_only_tests_need_is_in_extras() -> None:
    extras = PROJECT["project"]["optional-dependencies"]
    assert not any(line.startswith("pytest") for line in PROJECT["project"]["dependencies"])
    assert all("pytest>=8" in extras[name] for name in ("dev", "testing"))
    lock = (ROOT / "requirements" / "lock.txt").read_text("utf-8")
    assert "\npytest==" not in lock


@pytest.mark.parametrize(("lock", "extras"), [("lock.txt", ()), ("dev.txt", ("dev",))])
def test_every_dependency_is_locked(lock: str, extras: tuple[str, ...]) -> None:
    versions = locked(lock)
    for requirement in needed(*extras):
        found = versions.get(canonicalize_name(requirement.name), [])
        assert found, f"{requirement} is not in requirements/{lock}; run scripts/lock"
        assert all(requirement.specifier.contains(v, prereleases=True) for v in found), requirement


def test_what_runs_is_what_was_tested() -> None:
    tested = locked("dev.txt")
    assert {name: tested.get(name) for name in locked("lock.txt")} == locked("lock.txt")


@pytest.mark.parametrize("lock", ["lock.txt", "dev.txt"])
def test_every_line_of_a_lock_is_a_version_with_hashes(lock: str) -> None:
    text = (ROOT / "requirements" / lock).read_text("utf-8")
    entries = re.split(r"\n(?=[A-Za-z0-9])", re.sub(r"(?m)^\s*#.*\n?", "", text).strip())
    for entry in entries:
        assert re.match(r"[A-Za-z0-9._-]+==\S+", entry), entry
        assert "--hash=sha256:" in entry, entry
    assert "://" not in text and " @ " not in text


def test_the_project_asks_for_ranges_and_pins_nothing() -> None:
    extras = PROJECT["project"]["optional-dependencies"]
    for requirement in needed(*extras):
        operators = {specifier.operator for specifier in requirement.specifier}
        assert operators, f"{requirement} should say from which version on"
        assert not operators & {"==", "===", "~="}, requirement


# -- what is built ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Built:
    """A copy of the tree, its sdist, and the wheel that was built from that sdist, offline."""

    tree: Path
    sdist: Path
    wheel: Path

    def files(self, *folders: str) -> set[str]:
        """Every file below these folders of the tree."""
        return {
            path.relative_to(self.tree).as_posix()
            for folder in folders
            for path in (self.tree / folder).rglob("*")
            if path.is_file()
        }


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    tree = tmp_path_factory.mktemp("tree")
    for name in SHIPPED:
        shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in (*TOP, ".gitignore"):
        shutil.copy2(ROOT / name, tree / name)
    out = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(tree)],
        env={**os.environ, "SOURCE_DATE_EPOCH": EPOCH, "PIP_NO_INDEX": "1"},
        capture_output=True,
        check=True,
    )
    (sdist,) = out.glob("*.tar.gz")
    (wheel,) = out.glob("*.whl")
    return Built(tree, sdist, wheel)


def test_the_wheel_holds_every_file_of_the_packages(built: Built) -> None:
    with zipfile.ZipFile(built.wheel) as wheel:
        names = set(wheel.namelist())
    manual = {name for name in names if ".data/data/share/man/man1/" in name}
    assert {name.rpartition("/")[2] for name in manual} == {
        name.rpartition("/")[2] for name in built.files("docs/man")
    }
    own = {name for name in names - manual if ".dist-info/" not in name}
    assert own == {
        name.replace(folder, package, 1)
        for package, folder in SOURCES.items()
        for name in built.files(folder)
    }
    kept = {name.rpartition("/")[2] for name in own}
    assert {"py.typed", "wire.en.jsonl", "wire.fr.jsonl", "report.html", "fr.toml"} <= kept
    licences = {name.rpartition("/")[2] for name in names if "/licenses/" in name}
    assert licences == {"LICENSE", "NOTICE"}


def test_the_wheel_offers_the_entry_points_of_the_project(built: Built) -> None:
    with zipfile.ZipFile(built.wheel) as wheel:
        (name,) = [n for n in wheel.namelist() if n.endswith("/entry_points.txt")]
        parser = configparser.ConfigParser(delimiters=("=",))
        parser.read_string(wheel.read(name).decode())
    project = PROJECT["project"]
    assert dict(parser["console_scripts"]) == project["scripts"]
    for group, points in project["entry-points"].items():
        assert dict(parser[group]) == points


def test_every_entry_point_of_a_plugin_is_a_file() -> None:
    groups = PROJECT["project"]["entry-points"]
    for module in [*groups["segapsith"].values(), *groups["segapsith.commands"].values()]:
        package, *inner = module.split(".")
        assert (ROOT / SOURCES[package]).joinpath(*inner).with_suffix(".py").is_file(), module


def test_the_sdist_holds_sources_tests_scripts_docs_and_locks(built: Built) -> None:
    with tarfile.open(built.sdist) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    assert built.files(*SHIPPED) | set(TOP) <= names


def test_two_builds_give_the_same_bytes(
    built: Built, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One wheel came from the sdist, the other comes from the tree: they are the same file."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", EPOCH)
    for before, builder in ((built.sdist, SdistBuilder), (built.wheel, WheelBuilder)):
        (again,) = builder(str(built.tree)).build(directory=str(tmp_path), versions=["standard"])
        assert Path(again).name == before.name
        assert _digest(Path(again)) == _digest(before), before.name


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


_TRY = """
import json, segapsith, segapsith_plugins, segapsith_store
from importlib.metadata import entry_points, version
from segapsith.demo import sample
points = entry_points(group="segapsith")
print(json.dumps({
    "homes": [m.__file__ for m in (segapsith, segapsith_plugins, segapsith_store)],
    "version": version("segapsith"),
    "own": segapsith.__version__,
    "plugins": sorted({p.load().__file__ for p in points if p.dist.name == "segapsith"}),
    "sample": len(sample.lines("fr")),
    "words": segapsith.segment("Les rivières montent dans la vallée.", lang="fr")[0].words,
}))
"""


def test_the_wheel_installs_and_works(built: Built, tmp_path: Path) -> None:
    home = tmp_path / "site"
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index",
         "--no-compile", "--disable-pip-version-check", "--target", str(home), str(built.wheel)],
        capture_output=True,
        check=True,
    )  # fmt: skip
    answer = subprocess.run(
        [sys.executable, "-c", _TRY],
        env={**os.environ, "PYTHONPATH": str(home)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(answer.stdout)
    assert all(path.startswith(str(home)) for path in found["homes"] + found["plugins"])
    assert found["version"] == found["own"] == PROJECT["project"]["version"]
    assert len(found["plugins"]) == len(PROJECT["project"]["entry-points"]["segapsith"])
    assert found["sample"] > 100
    assert "rivière" in found["words"]
