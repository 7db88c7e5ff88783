"""Note what the pictures in docs/images were made from: `picture_sources.py NAME…`.

The scripts that make pictures call this. A test compares the notes with the sources, so that no
picture is older than the pages that it shows.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NOTES = ROOT / "docs" / "images" / "sources.json"

SOURCES = {
    "report": ("segapsith/report/templates/report.*", "segapsith/report/charts/*.py"),
    "web": (
        "segapsith/web/templates/base.html",
        "segapsith/web/templates/macros.html",
        "segapsith/web/templates/today.html",
        "segapsith/web/templates/domain.html",
        "segapsith/web/static/*.css",
    ),
}
"""What each picture shows, by the script that makes it."""


def hash_of(name: str) -> str:
    """Return a hash of the sources of a picture."""
    paths = sorted(path for pattern in SOURCES[name] for path in ROOT.glob(pattern))
    made = hashlib.sha256()
    for path in paths:
        made.update(path.relative_to(ROOT).as_posix().encode() + b"\0")
        made.update(path.read_bytes() + b"\0")
    return made.hexdigest()[:16]


def note(*names: str) -> None:
    """Write down that the pictures were made from the sources as they are."""
    known = json.loads(NOTES.read_text("utf-8")) if NOTES.exists() else {}
    known |= {name: hash_of(name) for name in names}
    NOTES.write_text(json.dumps(known, indent=2, sort_keys=True) + "\n", "utf-8")


if __name__ == "__main__":
    note(*sys.argv[1:])
