"""The command line: parses, calls the Python API, prints."""

from __future__ import annotations

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> None:
    """Runs a command and ends the process with its exit code."""
    from segapsith.cli.app import run

    raise SystemExit(run(arguments))
