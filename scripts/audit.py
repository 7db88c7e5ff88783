#!/usr/bin/env python
"""Report known vulnerabilities in the locked packages, from a database on disk.

    .venv/bin/python scripts/audit.py all.zip

The database is a zip or a directory of OSV records (one JSON file per record), such as the export of
the OSV project for the ecosystem PyPI. Nothing is downloaded. Every hit is printed. The exit code is
1 if there are hits, and 2 if the database has no record of Python packages. `scripts/test` does this
if SEGAPSITH_ADVISORIES names a database.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

REQUIREMENTS = Path(__file__).resolve().parents[1] / "requirements"

Record = Mapping[str, Any]


def locked(folder: Path = REQUIREMENTS) -> set[tuple[str, str]]:
    """Return the name and version of every package that the scripts install."""
    lines = "\n".join(path.read_text("utf-8") for path in sorted(folder.glob("*.txt")))
    found = re.findall(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", lines, re.MULTILINE)
    return {(canonicalize_name(name), version) for name, version in found}


def records(database: Path) -> Iterator[Record]:
    """Yield the advisories of a database."""
    if database.is_dir():
        for path in sorted(database.rglob("*.json")):
            yield json.loads(path.read_text("utf-8"))
        return
    with zipfile.ZipFile(database) as archive:
        for name in sorted(archive.namelist()):
            if name.endswith(".json"):
                yield json.loads(archive.read(name))


def affected(record: Record) -> Iterator[tuple[str, Record]]:
    """Return the Python packages that an advisory affects; none if it was withdrawn."""
    if record.get("withdrawn"):
        return
    for part in record.get("affected", ()):
        package = part.get("package", {})
        if package.get("ecosystem") == "PyPI" and package.get("name"):
            yield canonicalize_name(package["name"]), part


def hit(version: str, part: Record) -> bool:
    """Return whether a version is affected: named, or in a range."""
    if version in part.get("versions", ()):
        return True
    ranges = [found for found in part.get("ranges", ()) if found.get("type") == "ECOSYSTEM"]
    return any(_inside(Version(version), found.get("events", ())) for found in ranges)


def _inside(version: Version, events: Iterable[Mapping[str, str]]) -> bool:
    """Sort the events by version; the last one that the version has reached decides."""
    points = sorted((_point(value), kind) for event in events for kind, value in event.items())
    inside = False
    for point, kind in points:
        if kind == "introduced" and version >= point:
            inside = True
        elif (kind == "fixed" and version >= point) or (
            kind == "last_affected" and version > point
        ):
            inside = False
    return inside


def _point(text: str) -> Version:
    try:
        return Version(text)
    except InvalidVersion:  # of long ago: before all that can be compared
        return Version("0.dev0")


def hits(database: Path, packages: set[tuple[str, str]]) -> tuple[int, list[str]]:
    """Return the number of advisories on Python packages, and a line for each that affects the lock."""
    versions: dict[str, list[str]] = {}
    for name, version in sorted(packages):
        versions.setdefault(name, []).append(version)
    n_known, found = 0, []
    for record in records(database):
        for name, part in affected(record):
            n_known += 1
            found += [
                f"{name} {version}: {record.get('id')} {record.get('summary') or ''}".strip()
                for version in versions.get(name, ())
                if hit(version, part)
            ]
    return n_known, found


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("database", type=Path)
    packages = locked()
    n_known, found = hits(parser.parse_args().database, packages)
    if not n_known:
        print("the database has no advisory on a Python package", file=sys.stderr)
        return 2
    print(f"{len(packages)} packages, {n_known:,} advisories, {len(found)} hits")
    print("\n".join(found))
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
