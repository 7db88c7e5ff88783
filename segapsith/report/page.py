"""The report: one self-contained HTML page on domains and their validation, without scripts."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from segapsith.arrays import Matrix
from segapsith.domains.timeline import Timeline
from segapsith.evaluation.compare import BINS, average_linkage_tree
from segapsith.model import Record

__all__ = ["Facts", "last_run_of", "page", "validation_charts", "validation_series"]

MAX_MAP_DOMAINS = 80
MAX_TREE_DOMAINS = 60
"""Number of domains of a language in a chart: more would be neither legible nor small."""

MAX_SECTION_DOMAINS = 5
"""Domains that are listed below a section."""

VERDICTS = ("confirmed", "split", "merged", "missing")
RUN_TAG = "segapsith-run"
"""The meta element that holds the newest run of a page."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What the page shows."""

    status: Record
    run: int
    """The newest run that the page covers."""
    domains: Sequence[Record]
    n_domains: int
    """Number of domains with at least `min_units` units; `domains` may be fewer."""
    min_units: int
    stable: int
    """Number of units that make a domain stable."""
    days: Mapping[int, Mapping[str, int]]
    titles: Mapping[int, Sequence[str]]
    examples: Mapping[int, Sequence[str]]
    similarities: Mapping[str, Matrix]
    """By language: similarities of its domains, in the order of `domains`."""
    measure: str
    validations: Sequence[Mapping[str, Any]]
    history: Sequence[Record]
    changes: Record
    names: Mapping[int, str]
    sections: Sequence[Record]
    """The sections of the store, largest first; empty if none were made."""
    events: Sequence[Record] = ()
    """The latest events of two stories or more."""


def last_run_of(path: Path) -> int | None:
    """Return the newest run that an earlier page covers, or None if `path` is no such page."""
    try:
        with path.open(encoding="utf-8") as lines:
            match = re.search(rf'<meta name="{RUN_TAG}" content="(\d+)">', lines.read(4096))
    except (OSError, UnicodeDecodeError):
        return None
    return int(match.group(1)) if match else None


def page(facts: Facts) -> str:
    """Return the report as HTML; every text is escaped, and only the style with this hash applies."""
    from jinja2 import Environment, StrictUndefined

    from segapsith.report.charts import curves

    templates = files("segapsith.report") / "templates"
    style = (templates / "report.css").read_text("utf-8")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    template = environment.from_string((templates / "report.html").read_text("utf-8"))
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    axis = Timeline.of(day for counts in facts.days.values() for day in counts)
    shown = {domain["id"] for domain in facts.domains}
    verdicts = {
        verdict["domain"]: verdict
        for validation in facts.validations
        for verdict in validation.get("verdicts", [])
    }
    return template.render(
        style=style,
        style_hash=digest,
        facts=facts,
        axis=axis,
        day_bars={domain: curves.day_bars(axis, counts) for domain, counts in facts.days.items()},
        maps=[_map_and_tree(facts, lang) for lang in facts.similarities],
        validations=[validation_charts(facts.names, one) for one in facts.validations],
        series=validation_series(facts.history),
        verdicts=verdicts,
        shown=shown,
        languages=sorted({section["lang"] for section in facts.sections}),
        largest=_largest(facts),
        kinds=(
            ("new", "New", "started by the new stories"),
            ("growing", "Growing", "a larger share of the new units than of the earlier ones"),
            ("fading", "Fading", "a smaller share of the new units than of the earlier ones"),
        ),
    )


def _largest(facts: Facts) -> dict[int, list[Record]]:
    """Return the largest domains on the page of each section."""
    largest: dict[int, list[Record]] = {section["id"]: [] for section in facts.sections}
    for domain in facts.domains:  # largest first
        members = largest.get(domain["section"], [])
        if len(members) < MAX_SECTION_DOMAINS:
            members.append(domain)
    return largest


def _map_and_tree(facts: Facts, lang: str) -> dict[str, Any]:
    """Return the map and the tree of the domains of a language."""
    from segapsith.report.charts import maps, trees

    domains = [domain for domain in facts.domains if domain["lang"] == lang]
    similar = facts.similarities[lang]
    tree_size = min(MAX_TREE_DOMAINS, len(domains))
    map_size = min(MAX_MAP_DOMAINS, len(domains))
    tree = average_linkage_tree(similar[:tree_size, :tree_size])
    groups = trees.colour_groups(
        average_linkage_tree(similar[:map_size, :map_size]),
        [domain["units"] for domain in domains[:map_size]],
    )
    return {
        "lang": lang,
        "n_domains": len(domains),
        "n_map": map_size,
        "n_tree": tree_size,
        "n_groups": len(set(groups) - {0}),
        "map": maps.draw(
            domains[:map_size], similar[:map_size, :map_size], groups,
            f"map of {map_size} domains ({lang})",
        ) if map_size > 1 else None,
        "tree": trees.draw(
            domains[:tree_size], tree, groups[:tree_size], f"tree of {tree_size} domains ({lang})"
        ) if tree_size > 1 else None,
    }  # fmt: skip


def validation_charts(
    names: Mapping[int, str], validation: Mapping[str, Any], translate: Callable[[str], str] = str
) -> dict[str, Any]:
    """Return a validation with its charts; `names` are the labels of domains."""
    from segapsith.report.charts import curves, gauges, tables

    if not validation["domains"]:
        return {**validation, "charts": None}
    kinds = {verdict["domain"]: verdict["verdict"] for verdict in validation.get("verdicts", [])}
    counts = {kind: sum(verdict == kind for verdict in kinds.values()) for kind in VERDICTS}
    clusters = {
        int(number): f"{number}: {', '.join(words[:3])}"
        for number, words in validation.get("cluster_words", {}).items()
    }
    covered = validation["coverage"]
    bins = [
        (f"{name} %", (covered["bins"].get(name, 0), covered["reverse_bins"].get(name, 0)))
        for name in BINS
    ]
    table = validation.get("table")
    return {
        **validation,
        "counts": counts,
        "charts": {
            "kappa": gauges.kappa(
                validation["kappa"], validation.get("kappa_interval"), translate
            ),
            "mantel": gauges.mantel(validation["mantel"], translate),
            "coverage": gauges.bars(
                bins, (translate("domains"), translate("clusters")),
                translate("number of domains by their largest share in one cluster, and the reverse"),
            ),
            "verdicts": gauges.shares(counts, ", ".join(f"{n} {kind}" for kind, n in counts.items()))
            if kinds else None,
            "heat": tables.heat(
                table, names, clusters, translate("domains by clusters: share of each domain"),
                translate,
            ) if table else None,
            "ribbons": tables.ribbons(
                table, names, clusters, kinds, "clusters that contain the units of each domain"
            ) if table else None,
            "curve": curves.over_clusters(
                validation["curve"], validation["domains"], "kappa for other numbers of clusters"
            ) if validation.get("curve") else None,
        },
        "n_heat": min(tables.MAX_ROWS, validation["domains"]),
        "n_ribbons": min(tables.MAX_RIBBON_ROWS, validation["domains"]),
    }  # fmt: skip


def validation_series(history: Sequence[Record]) -> list[dict[str, Any]]:
    """Return the validations by language and clusterer, with a chart where there are two or more."""
    from segapsith.report.charts import curves

    series: dict[tuple[str, str], list[Record]] = {}
    for validation in history:
        if validation["kappa"] is not None:
            key = (validation["lang"], str(validation["clusterer"]))
            series.setdefault(key, []).append(validation)
    return [
        {
            "lang": lang,
            "clusterer": clusterer,
            "last": validations[-1],
            "n": len(validations),
            "median": float(np.median([validation["kappa"] for validation in validations])),
            "chart": curves.over_time(validations, f"kappa over {len(validations)} validations")
            if len(validations) > 1
            else None,
        }
        for (lang, clusterer), validations in series.items()
    ]
