"""Several stores in one view: the subjects that they have in common."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from segapsith.errors import MissingInputError
from segapsith.report.charts import gauges
from segapsith.report.charts.svg import shorten
from segapsith.web.ask import Ask
from segapsith.web.charts import Chart
from segapsith.web.render import Page

__all__ = ["federation_page"]

LEVELS = ("domains", "topics")
MOST_NAME = 12
"""Characters of the name of a store beside its bars."""

Record = Mapping[str, Any]


def federation_page(ask: Ask) -> Page:
    """Return the subjects of the federated view: filtered and paged, with a column for each store."""
    t, view = ask.texts.text, ask.desk.federation
    if view is None:
        raise MissingInputError(t("No federated view is shown: start with --federation DIR."))
    facts = view.read()
    kind, lang = ask.choice("level", LEVELS, "domains"), ask.text("lang", most=20)
    common, span = ask.text("common") == "1", ask.span(25)
    words = ask.text("q", most=200).lower().split()
    level = facts[kind]
    listed = [
        subject
        for subject in level["subjects"]
        if lang in ("", subject["lang"])
        and (len(subject["members"]) > 1 or not common)
        and all(word in _spoken(subject) for word in words)
    ]
    groups = {(one["store"], one["id"]): one for one in level["groups"]}
    own = _own_store(ask.desk.path, facts["stores"])
    values = {
        "facts": facts,
        "level": kind,
        "levels": LEVELS,
        "common": common,
        "langs": sorted({subject["lang"] for subject in level["subjects"]}),
        "subjects": [
            {**one, "cells": {key[0]: groups[key] for key in map(tuple, one["members"])}}
            for one in listed[span.offset : span.offset + span.limit]
        ],
        "total": len(listed),
        "span": span,
        "own": own,
        "linked": _present(ask, kind) if own else frozenset(),
    }
    return Page("federation.html", t("Federated stores"), values, [_chart(ask, kind, level, facts)])


def _spoken(subject: Record) -> str:
    return f"{subject['label']} {' '.join(subject['words'])}".lower()


def _own_store(path: str, stores: Sequence[Record]) -> str:
    """Return the name of the served store in the view; empty if it is not a part of it."""
    real = os.path.realpath(path)
    return next((str(one["name"]) for one in stores if os.path.realpath(one["path"]) == real), "")


def _present(ask: Ask, kind: str) -> frozenset[int]:
    """Return the domains or topics that the served store has now: the view may be older."""
    with ask.wire.reading():
        if kind == "domains":
            return frozenset(ask.wire.browse.activity().described)
        return frozenset(one.id for one in ask.wire.browse.topics(ask.wire.browse.n_topics()))


def _chart(ask: Ask, kind: str, level: Record, facts: Record) -> Chart:
    """Return the groups of each store that others have too, and those that it has alone."""
    t = ask.texts.text
    rows = []
    for store in (one["name"] for one in facts["stores"]):
        sizes = [
            len(subject["members"])
            for subject in level["subjects"]
            if any(member[0] == store for member in subject["members"])
        ]
        common = sum(size > 1 for size in sizes)
        rows.append((store, common, len(sizes) - common))
    names = (t("also in other stores"), t("only in this store"))
    title = t("Domains by store") if kind == "domains" else t("Topics by store")
    drawn = [(shorten(store, MOST_NAME), counts) for store, *counts in rows]
    return Chart("stores", title, gauges.bars(drawn, names, title), (t("store"), *names), rows)
