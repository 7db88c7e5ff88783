"""The page of a federated view: subjects of several stores side by side, without scripts."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

__all__ = ["page"]

MAX_SUBJECTS = 200
"""Subjects of a language that are on the page; the tables have all."""

MAX_LINKS = 100
"""Links of one direction that are on the page."""


def page(federation: Mapping[str, Any]) -> str:
    """Return the page for the JSON form of a federation; every text is escaped."""
    from jinja2 import Environment, StrictUndefined

    templates = files("segapsith.report") / "templates"
    style = "".join(
        (templates / name).read_text("utf-8") for name in ("report.css", "federation.css")
    )
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    template = environment.from_string((templates / "federation.html").read_text("utf-8"))
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return template.render(
        style=style,
        style_hash=digest,
        facts=federation,
        levels=[
            ("domains", "Domains", _level(federation["domains"])),
            ("topics", "Topics", _level(federation["topics"])),
        ],
        max_subjects=MAX_SUBJECTS,
    )


def _level(level: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the page shows of a level: subjects by language, and one-sided links."""
    groups = {(one["store"], one["id"]): one for one in level["groups"]}
    languages = sorted({one["lang"] for one in level["subjects"]})
    one_sided = [one for one in level["links"] if not one["is_mutual"]]
    return {
        "languages": [
            _language(lang, [one for one in level["subjects"] if one["lang"] == lang], groups)
            for lang in languages
        ],
        "one_sided": [
            {
                **one,
                "wider": groups[one["left_store"], one["left"]],
                "narrower": groups[one["right_store"], one["right"]],
            }
            for one in one_sided[:MAX_LINKS]
        ],
        "n_one_sided": len(one_sided),
    }


def _language(
    lang: str, subjects: Sequence[Mapping[str, Any]], groups: Mapping[tuple[str, int], Any]
) -> dict[str, Any]:
    """Return the subjects of a language with a cell for each store that has them."""
    most = max((one["units"] for one in groups.values() if one["lang"] == lang), default=1)
    shown = [
        {
            **subject,
            "cells": {
                store: {
                    **groups[store, number],
                    "step": max(1, -(-10 * groups[store, number]["units"] // most)),
                }
                for store, number in subject["members"]
            },
        }
        for subject in subjects[:MAX_SUBJECTS]
    ]
    stores = {one["store"] for one in groups.values() if one["lang"] == lang}
    return {
        "lang": lang,
        "n_subjects": len(subjects),
        "n_common": sum(len(one["members"]) > 1 for one in subjects),
        "subjects": shown,
        "stores": stores,
    }
