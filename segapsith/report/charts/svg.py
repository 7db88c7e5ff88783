"""SVG elements; texts and attributes are escaped here, for all charts."""

from __future__ import annotations

import functools
from collections.abc import Iterable

from markupsafe import Markup, escape

__all__ = ["number", "picture", "shorten", "standalone", "tag", "text"]

STYLE = """
svg { font: 13px system-ui, sans-serif; background: #fcfcfa; color-scheme: light dark }
text { fill: #3f4d5a } .rule { stroke: #d9e0e6; fill: none } .axis { stroke: #8b98a5; fill: none }
.line { stroke: #1f6f8b; stroke-width: 2.5; fill: none } .band { fill: #1f6f8b; opacity: .16 }
.dot { fill: #1f6f8b } .line2 { stroke: #c2702b; stroke-width: 2; fill: none; stroke-dasharray: 5 4 }
@media (prefers-color-scheme: dark) { svg { background: #12181d } text { fill: #c3ced8 }
.rule { stroke: #2b3742 } .line { stroke: #63b8d6 } .dot, .band { fill: #63b8d6 } }
"""


def number(value: float) -> str:
    """Return a coordinate in as few characters as possible.

    >>> number(3.0), number(2.345), number(-0.001)
    ('3', '2.3', '0')
    """
    digits = f"{value:.1f}".rstrip("0").rstrip(".")
    return "0" if digits in ("-0", "") else digits


def tag(name: str, *children: str | Markup, **attributes: str | float | None) -> Markup:
    """Return an element; `class_` becomes `class`, and an underscore becomes a hyphen.

    >>> str(tag("text", "a < b", x=1, text_anchor="end"))
    '<text x="1" text-anchor="end">a &lt; b</text>'
    """
    # plain strings: a page of charts has hundreds of elements, and Markup.format takes 20 µs each
    written = "".join(
        [
            f' {_name(key)}="{number(value) if isinstance(value, int | float) else escape(value)}"'
            for key, value in attributes.items()
            if value is not None
        ]
    )
    inside = "".join([escape(child) for child in children])
    return Markup(f"<{name}{written}>{inside}</{name}>")  # noqa: S704 - names are ours, the rest is escaped


@functools.cache
def _name(key: str) -> str:
    """
    >>> _name("class_"), _name("text_anchor")
    ('class', 'text-anchor')
    """
    return key.rstrip("_").replace("_", "-")


def text(
    x: float, y: float, content: str, class_: str | None = None, anchor: str = "start"
) -> Markup:
    """Return a line of text."""
    return tag(
        "text", content, x=x, y=y, class_=class_, text_anchor=anchor if anchor != "start" else None
    )


def picture(
    width: float,
    height: float,
    label: str,
    parts: Iterable[Markup],
    class_: str = "picture",
    role: str = "img",
    stretched: bool = False,
) -> Markup:
    """Return a whole SVG image; a screen reader reads `label`."""
    return tag(
        "svg",
        *parts,
        class_=class_,
        viewBox=f"0 0 {number(width)} {number(height)}",
        preserveAspectRatio="none" if stretched else None,
        role=role,
        aria_label=label,
    )


def shorten(content: str, max_chars: int) -> str:
    """Return a text of at most `max_chars` characters.

    >>> shorten("inflation, bank, price", 12)
    'inflation,…'
    """
    return content if len(content) <= max_chars else content[: max_chars - 1].rstrip() + "…"


def standalone(inner: Markup, style: str = "") -> str:
    """Return an image as the content of an SVG file, with its style."""
    head, _, rest = str(inner).partition(">")
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n{head} xmlns="http://www.w3.org/2000/svg">'
        f"<style>{STYLE}{style}</style>{rest}\n"
    )
