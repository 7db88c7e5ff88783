"""The audit: a version is affected if it is named or lies in a range, and only then."""

from __future__ import annotations

import importlib.util
import json
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def audit() -> ModuleType:
    spec = importlib.util.spec_from_file_location("audit", ROOT / "scripts" / "audit.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def advisory(name: str = "Some_Package", ecosystem: str = "PyPI", **part: Any) -> dict[str, Any]:
    package = {"ecosystem": ecosystem, "name": name}
    return {"id": "X-1", "summary": "it breaks", "affected": [{"package": package, **part}]}


def events(*said: dict[str, str]) -> dict[str, Any]:
    return {"ranges": [{"type": "ECOSYSTEM", "events": list(said)}]}


FROM_THE_START = events({"introduced": "0"})
MENDED = events({"introduced": "0"}, {"fixed": "1.10"})
AGAIN = events(
    {"introduced": "0"}, {"fixed": "1.2"}, {"introduced": "1.9"}, {"last_affected": "1.9.1"}
)


@pytest.mark.parametrize(
    ("part", "version", "wanted"),
    [
        ({"versions": ["1.9", "1.8"]}, "1.9", True),
        ({"versions": ["1.8"]}, "1.9", False),
        (FROM_THE_START, "0.1", True),
        (MENDED, "1.9", True),  # and not 1.9 > 1.10
        (MENDED, "1.10", False),
        (AGAIN, "1.1", True),
        (AGAIN, "1.2", False),
        (AGAIN, "1.9.1", True),
        (AGAIN, "1.9.2", False),
        ({"ranges": [{"type": "GIT", "events": [{"introduced": "0"}]}]}, "1.9", False),
    ],
)
def test_which_versions_are_hit(
    audit: ModuleType, part: dict[str, Any], version: str, wanted: bool
) -> None:
    ((name, kept),) = audit.affected(advisory(**part))
    assert name == "some-package"
    assert audit.hit(version, kept) == wanted


def test_a_database_is_a_directory_or_a_zip(audit: ModuleType, tmp_path: Path) -> None:
    found = [
        advisory(**FROM_THE_START),
        advisory("other", **FROM_THE_START),
        advisory(ecosystem="npm", **FROM_THE_START),
        {**advisory(**FROM_THE_START), "withdrawn": "2026-01-01T00:00:00Z"},
    ]
    folder = tmp_path / "records"
    folder.mkdir()
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        for number, record in enumerate(found):
            (folder / f"{number}.json").write_text(json.dumps(record), encoding="utf-8")
            archive.writestr(f"{number}.json", json.dumps(record))
    for database in (folder, tmp_path / "all.zip"):
        known, lines = audit.hits(database, {("some-package", "1.0")})
        assert (known, lines) == (2, ["some-package 1.0: X-1 it breaks"])


def test_every_locked_package_is_looked_up(audit: ModuleType, tmp_path: Path) -> None:
    names = {name for name, _ in audit.locked()}
    assert {"numpy", "pytest", "sqlite-utils"} <= names
    for name in names:
        record = advisory(name, **FROM_THE_START)
        (tmp_path / f"{name}.json").write_text(json.dumps(record), encoding="utf-8")
    _, lines = audit.hits(tmp_path, audit.locked())
    assert {line.split()[0] for line in lines} == names
