#!/usr/bin/env python
"""Write requirements/sbom.cdx.json: every locked package with version, licence and dependencies.

Versions come from requirements/lock.txt, which has the hashes. Licences and dependencies come from the
metadata of the installed packages. `--check` reports whether the file matches the lock. Known
vulnerabilities are checked by `scripts/audit.py`, which needs a database.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tomllib
import uuid
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
LOCK = ROOT / "requirements" / "lock.txt"
SBOM = ROOT / "requirements" / "sbom.cdx.json"

NOT_INSTALLED = {"colorama": "BSD-3-Clause", "editables": "MIT"}
"""Locked, but not wanted on every system; read from the projects themselves."""

NAMES = {
    "Apache License, Version 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD": "LicenseRef-BSD",
    "BSD License": "LicenseRef-BSD",
    "ISC License": "ISC",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Public Domain": "LicenseRef-public-domain",
}
"""What metadata says in words, as an SPDX identifier; where it does not say which BSD, nor do we."""

COMPATIBLE = {
    *("0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC", "MIT", "MPL-2.0"),
    *("PSF-2.0", "Zlib", "LicenseRef-BSD", "LicenseRef-public-domain", "LLVM-exception"),
}
"""Licences that a program under Apache-2.0 may depend on."""


def locked() -> list[tuple[str, str]]:
    """Return the name and version of each line of the lock; a package may have one version per Python."""
    found = re.findall(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", LOCK.read_text("utf-8"), re.MULTILINE)
    return sorted((canonicalize_name(name), version) for name, version in found)


def installed(name: str) -> Distribution | None:
    try:
        return distribution(name)
    except PackageNotFoundError:
        return None


def licence(name: str) -> str:
    """Return the SPDX expression of a package, or raise an error that names what to add here."""
    found = installed(name)
    if found is None:
        said = [NOT_INSTALLED.get(name, "")]
    else:
        meta = found.metadata
        classifiers = meta.get_all("Classifier") or []
        said = [
            meta.get("License-Expression") or "",
            *([meta["License"]] if "License" in meta and len(meta["License"]) < 60 else []),
            *(c.rpartition(" :: ")[2] for c in classifiers if c.startswith("License ::")),
        ]
    for text in said:
        expression = NAMES.get(text, text)
        if (
            expression
            and set(re.findall(r"[\w.-]+", expression)) - {"AND", "OR", "WITH"} <= COMPATIBLE
        ):
            return expression
    raise SystemExit(f"scripts/sbom: {name}: no licence that is known to be compatible in {said}")


def dependencies(name: str, known: set[str]) -> list[str]:
    """Return the locked packages that a package requires, without its extras."""
    found = installed(name)
    asked = [Requirement(line) for line in (found.requires if found else None) or []]
    wanted = {canonicalize_name(r.name) for r in asked if "extra" not in str(r.marker or "")}
    return sorted(wanted & known)


def bill() -> dict[str, Any]:
    """Return the bill of materials; the same lock and installation give the same bytes."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    packages = locked()
    known = {name for name, _ in packages}
    refs: dict[str, list[str]] = {}
    for name, version in packages:
        refs.setdefault(name, []).append(f"pkg:pypi/{name}@{version}")
    components = []
    for name, version in packages:
        spdx = licence(name)
        simple = (
            {"license": {"id": spdx}} if re.fullmatch(r"[\w.-]+", spdx) else {"expression": spdx}
        )
        if spdx.startswith("LicenseRef-"):
            simple = {"license": {"name": spdx.removeprefix("LicenseRef-")}}
        components.append(
            {
                "type": "library",
                "bom-ref": f"pkg:pypi/{name}@{version}",
                "name": name,
                "version": version,
                "purl": f"pkg:pypi/{name}@{version}",
                "licenses": [simple],
            }
        )
    own = f"pkg:pypi/{project['name']}@{project['version']}"
    direct = {canonicalize_name(Requirement(line).name) for line in project["dependencies"]}
    graph = [{"ref": own, "dependsOn": [r for n in sorted(direct & known) for r in refs[n]]}]
    graph += [
        {"ref": ref, "dependsOn": [r for n in dependencies(name, known) for r in refs[n]]}
        for name in sorted(refs)
        for ref in refs[name]
    ]
    content = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": own,
                "name": project["name"],
                "version": project["version"],
                "licenses": [{"license": {"id": project["license"]}}],
            }
        },
        "components": components,
        "dependencies": graph,
    }
    number = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(content, sort_keys=True))
    return {**content, "serialNumber": f"urn:uuid:{number}"}


def faults() -> list[str]:
    """Return the differences between the file on disk and the lock."""
    kept = json.loads(SBOM.read_text("utf-8"))
    listed = sorted((c["name"], c["version"]) for c in kept["components"])
    lock = locked()
    return [
        *(f"{n} {v} is locked and not listed" for n, v in lock if (n, v) not in listed),
        *(f"{n} {v} is listed and not locked" for n, v in listed if (n, v) not in lock),
        *(f"{c['name']} has no licence" for c in kept["components"] if not c.get("licenses")),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, only compare")
    if parser.parse_args().check:
        for fault in faults():
            print(f"scripts/sbom: {fault}", file=sys.stderr)
        return int(bool(faults()))
    SBOM.write_text(json.dumps(bill(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"{SBOM.relative_to(ROOT)}: {len(locked())} packages")
    return 0


if __name__ == "__main__":
    sys.exit(main())
