"""One self-contained page: domains, their days, and whether they hold. No script, no network."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from segapsith.arrays import Matrix
from segapsith.domains.timeline import Timeline
from segapsith.evaluation.compare import BINS, average_linkage_tree

__all__ = ["Facts", "last_run_of", "page"]

MAP_MOST = 80
TREE_MOST = 60
"""Domains of a language that are drawn: more would be neither read nor small."""

VERDICTS = ("confirmed", "split", "merged", "missing")
MARK = "segapsith-run"


@dataclass(frozen=True, slots=True)
class Facts:
    """What is on the page."""

    status: Mapping[str, Any]
    run: int
    """The newest run that the page knows."""
    domains: Sequence[Mapping[str, Any]]
    n_domains: int
    """Domains there are of that size; `domains` may be fewer."""
    min_units: int
    stable: int
    """Units from which a domain is called stable."""
    days: Mapping[int, Mapping[str, int]]
    titles: Mapping[int, Sequence[str]]
    examples: Mapping[int, Sequence[str]]
    similarities: Mapping[str, Matrix]
    """Of each language: domains by domains, in their order."""
    measure: str
    validations: Sequence[Mapping[str, Any]]
    history: Sequence[Mapping[str, Any]]
    changes: Mapping[str, Any]
    names: Mapping[int, str]


def last_run_of(path: Path) -> int | None:
    """The newest run that an earlier page knew, if there is one at that place."""
    try:
        with path.open(encoding="utf-8") as lines:
            found = re.search(rf'<meta name="{MARK}" content="(\d+)">', lines.read(4096))
    except (OSError, UnicodeDecodeError):
        return None
    return int(found.group(1)) if found else None


def page(facts: Facts) -> str:
    """The report as HTML. Every text is escaped; the style is allowed by its hash alone."""
    from jinja2 import Environment, StrictUndefined

    from segapsith.report.charts import curves

    room = files("segapsith.report") / "templates"
    style = (room / "report.css").read_text("utf-8")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    template = environment.from_string((room / "report.html").read_text("utf-8"))
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
        sparks={number: curves.spark(axis, facts.days[number]) for number in facts.days},
        places=[_place(facts, lang) for lang in facts.similarities],
        validations=[_shown(facts, validation) for validation in facts.validations],
        series=_series(facts.history),
        verdicts=verdicts,
        shown=shown,
        kinds=(
            ("new", "New", "founded by stories that arrived since"),
            ("growing", "Growing", "a larger share of what arrived since than of what was before"),
            ("fading", "Fading", "a smaller share than before"),
        ),
    )


def _place(facts: Facts, lang: str) -> dict[str, Any]:
    """Map and tree of the domains of a language."""
    from segapsith.report.charts import maps, trees

    domains = [domain for domain in facts.domains if domain["lang"] == lang]
    similar = facts.similarities[lang]
    tree_size = min(TREE_MOST, len(domains))
    map_size = min(MAP_MOST, len(domains))
    tree = average_linkage_tree(similar[:tree_size, :tree_size])
    groups = trees.cut(
        average_linkage_tree(similar[:map_size, :map_size]),
        [domain["units"] for domain in domains[:map_size]],
    )
    return {
        "lang": lang,
        "n_domains": len(domains),
        "n_map": map_size,
        "n_tree": tree_size,
        "n_topics": len(set(groups) - {0}),
        "map": maps.drawn(
            domains[:map_size], similar[:map_size, :map_size], groups,
            f"map of {map_size} domains ({lang})",
        ) if map_size > 1 else None,
        "tree": trees.drawn(
            domains[:tree_size], tree, groups[:tree_size], f"tree of {tree_size} domains ({lang})"
        ) if tree_size > 1 else None,
    }  # fmt: skip


def _shown(facts: Facts, validation: Mapping[str, Any]) -> dict[str, Any]:
    """A validation with its pictures."""
    from segapsith.report.charts import curves, gauges, tables

    if not validation["domains"]:
        return {**validation, "pictures": None}
    kinds = {verdict["domain"]: verdict["verdict"] for verdict in validation.get("verdicts", [])}
    counts = {kind: sum(found == kind for found in kinds.values()) for kind in VERDICTS}
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
        "pictures": {
            "kappa": gauges.kappa(validation["kappa"], validation.get("kappa_interval")),
            "mantel": gauges.mantel(validation["mantel"]),
            "coverage": gauges.bars(
                bins, ("domains in a cluster", "clusters in a domain"),
                "how much of each domain one cluster holds, and the other way round",
            ),
            "verdicts": gauges.shares(counts, ", ".join(f"{n} {kind}" for kind, n in counts.items()))
            if kinds else None,
            "heat": tables.heat(
                table, facts.names, clusters, "domains by clusters: share of each domain"
            ) if table else None,
            "ribbons": tables.ribbons(
                table, facts.names, clusters, kinds, "which clusters the units of a domain went to"
            ) if table else None,
            "curve": curves.over_k(
                validation["curve"], validation["domains"], "kappa for other numbers of clusters"
            ) if validation.get("curve") else None,
        },
        "n_heat": min(tables.MOST, validation["domains"]),
        "n_ribbons": min(tables.MOST_RIBBONS, validation["domains"]),
    }  # fmt: skip


def _series(history: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The validations of each language and clusterer, drawn from the second on."""
    from segapsith.report.charts import curves

    series: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for one in history:
        if one["kappa"] is not None:
            series.setdefault((one["lang"], str(one["clusterer"])), []).append(one)
    return [
        {
            "lang": lang,
            "clusterer": clusterer,
            "last": ones[-1],
            "n": len(ones),
            "median": float(np.median([one["kappa"] for one in ones])),
            "picture": curves.nights(ones, f"kappa over {len(ones)} validations")
            if len(ones) > 1
            else None,
        }
        for (lang, clusterer), ones in series.items()
    ]
