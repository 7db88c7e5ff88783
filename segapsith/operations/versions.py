"""Versions of the program and of the packages that it needs."""

from __future__ import annotations

import platform
import sqlite3
from importlib.metadata import PackageNotFoundError, requires, version

__all__ = ["versions"]


def versions() -> dict[str, str]:
    """Return the versions of Python, SQLite, the program and every package that it needs."""
    packages = {"segapsith"}
    for line in requires("segapsith") or []:
        if "extra ==" not in line:
            packages.add(_name(line))
    return {
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        **{name: _version(name) for name in sorted(packages)},
    }


def _name(requirement: str) -> str:
    """Return the name of the package in a requirement.

    >>> _name("typer>=0.26; python_version > '3'"), _name("sqlite-utils (>=4.1)")
    ('typer', 'sqlite-utils')
    """
    end = next((i for i, c in enumerate(requirement) if not (c.isalnum() or c in "-_.")), None)
    return requirement[:end]


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "missing"
