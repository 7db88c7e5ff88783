"""Bytes to documents; these names are the toolbox for authors of sources.

The text of bytes: `decode` (never fails), `decode_stream` (a piece at a time), `detect_encoding`,
`is_binary`, `repair_text` (UTF-8 that was read as Windows-1252). XML: `iter_xml_items` (the elements of a
name, one by one, from a stream of any length), `parse_xml` (one item; repairs broken markup and never
loads what it refers to), `xml_root_name`, `Element`, `XmlItem`, `XmlError`. HTML: `html_to_text`,
`parse_page` (title, text and date of a whole page), `Page`, `looks_like_html`. The `MAX_…` limits are
what a source should accept of one item. Every name is loaded when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from segapsith.io.encoding import decoded as decode
    from segapsith.io.encoding import encoding_of as detect_encoding
    from segapsith.io.encoding import is_binary
    from segapsith.io.encoding import repaired as repair_text
    from segapsith.io.encoding import text_chunks as decode_stream
    from segapsith.io.html import Page, looks_like_html
    from segapsith.io.html import page as parse_page
    from segapsith.io.html import text_of as html_to_text
    from segapsith.io.xml import Element, XmlError
    from segapsith.io.xml import parsed as parse_xml
    from segapsith.io.xml import root_name as xml_root_name
    from segapsith.io.xml_items import Piece as XmlItem
    from segapsith.io.xml_items import pieces as iter_xml_items
    from segapsith.limits import (
        MAX_ITEM_CHARS,
        MAX_JSON_VALUES,
        MAX_LINE_BYTES,
        MAX_PAGE_BYTES,
        MAX_TEXT_CHARS,
        MAX_WHOLE_BYTES,
    )

__all__ = [
    "MAX_ITEM_CHARS",
    "MAX_JSON_VALUES",
    "MAX_LINE_BYTES",
    "MAX_PAGE_BYTES",
    "MAX_TEXT_CHARS",
    "MAX_WHOLE_BYTES",
    "Element",
    "Page",
    "XmlError",
    "XmlItem",
    "decode",
    "decode_stream",
    "detect_encoding",
    "html_to_text",
    "is_binary",
    "iter_xml_items",
    "looks_like_html",
    "parse_page",
    "parse_xml",
    "repair_text",
    "xml_root_name",
]

_HOME_OF = {
    "decode": "segapsith.io.encoding:decoded",
    "decode_stream": "segapsith.io.encoding:text_chunks",
    "detect_encoding": "segapsith.io.encoding:encoding_of",
    "is_binary": "segapsith.io.encoding:is_binary",
    "repair_text": "segapsith.io.encoding:repaired",
    "Page": "segapsith.io.html:Page",
    "html_to_text": "segapsith.io.html:text_of",
    "looks_like_html": "segapsith.io.html:looks_like_html",
    "parse_page": "segapsith.io.html:page",
    "Element": "segapsith.io.xml:Element",
    "XmlError": "segapsith.io.xml:XmlError",
    "XmlItem": "segapsith.io.xml_items:Piece",
    "parse_xml": "segapsith.io.xml:parsed",
    "iter_xml_items": "segapsith.io.xml_items:pieces",
    "xml_root_name": "segapsith.io.xml:root_name",
    **{name: f"segapsith.limits:{name}" for name in __all__ if name.startswith("MAX_")},
}


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'segapsith.io' has no attribute {name!r}")
    module, _, attribute = _HOME_OF[name].partition(":")
    return getattr(importlib.import_module(module), attribute)


def __dir__() -> list[str]:
    return sorted(__all__)
