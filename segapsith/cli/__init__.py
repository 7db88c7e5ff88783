"""The command line: parses, calls the Python API, prints."""

from __future__ import annotations

import gc

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> None:
    """Runs a command and ends the process with its exit code."""
    from segapsith.cli.app import run

    code = run(arguments)
    gc.freeze()  # all memory is returned anyway: looking for garbage would delay the end
    raise SystemExit(code)
