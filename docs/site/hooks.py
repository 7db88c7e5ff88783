"""What the site needs besides the pages: files of the top level, and links to them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[2]

TOP = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "LICENSE": "licence.md",
    "NOTICE": "notice.md",
}
"""Files of the top level, and the page of the site that each becomes."""

LINK = re.compile(rf"\]\((?:\.\./)*({'|'.join(map(re.escape, TOP))})\)")


def slug(title: str, separator: str) -> str:
    """Return the anchor of a heading, as code hosts make it and as the pages link to it."""
    return re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", separator)


def on_files(files: Files, config: Any) -> Files:
    """Add the files of the top level as pages; their links into docs/ become links beside them."""
    for name, page in TOP.items():
        text = (ROOT / name).read_text("utf-8")
        if not name.endswith(".md"):
            text = f"# {name.capitalize()}\n\n```text\n{text}```\n"
        files.append(File.generated(config, page, content=text.replace("](docs/", "](")))
    return files


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Turn links to files of the top level into links to their pages; notebooks are not searched."""
    if page.file.src_uri.startswith("research/log/"):
        page.meta["search"] = {"exclude": True}
    up = "../" * page.file.src_uri.count("/")
    return LINK.sub(lambda match: f"]({up}{TOP[match[1]]})", markdown)
