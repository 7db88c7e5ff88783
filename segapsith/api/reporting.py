"""What the report shows, gathered from a store that is only read."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from segapsith.arrays import Matrix, Rows
from segapsith.evaluation.compare import Profiles, similarities
from segapsith.report.page import Facts
from segapsith.settings import BUILT_IN_PLACEMENT
from segapsith_store.queries import browse, history, news, validations
from segapsith_store.store import Store

__all__ = ["gathered"]

EXAMPLES = 2
TITLES = 3
FEWEST = 10
"""Words by which a domain is compared if none carries it."""
HISTORY = 400
"""Validations that are drawn."""

Compare = Callable[[Rows], Matrix]


def gathered(
    store: Store,
    *,
    min_units: int,
    limit: int,
    stable: int,
    since: str | int | None = None,
    compare: Compare | None = None,
    measure: str = BUILT_IN_PLACEMENT,
    word_cut: float = 0.03,
) -> Facts:
    """Everything on the page; `compare` gives the similarity of domains, eq. 7 by default."""
    with store.frozen():
        found = browse.domains(store, min_units=min_units, top=10, limit=limit)
        shown = {domain["id"] for domain in found}
        days: dict[int, dict[str, int]] = {number: {} for number in shown}
        titles: dict[int, list[str]] = {number: [] for number in shown}
        units: dict[int, list[int]] = {number: [] for number in shown}
        for number, unit, title, date in store.rows(
            "SELECT a.domain, u.id, v.title, substr(v.date, 1, 10) FROM assignments a"
            " JOIN units u ON u.id = a.unit JOIN versions v ON v.id = u.version"
            " WHERE a.domain IN (SELECT value FROM json_each(?)) ORDER BY a.score DESC, u.id",
            [json.dumps(sorted(shown))],
        ):
            if date:
                days[number][date] = days[number].get(date, 0) + 1
            if title and len(titles[number]) < TITLES and title not in titles[number]:
                titles[number].append(title)
            if len(units[number]) < EXAMPLES:
                units[number].append(unit)
        words = {
            unit: [word["word"] for word in domain["words"]]
            for domain in found
            for unit in units[domain["id"]]
        }
        sentences = validations.sentences(store, list(words), words)
        if since is None:
            run = history.before_last(store)
        else:  # 0 is before the first run: all is news
            run = 0 if since == 0 else history.night(store, since)
        last = store.row("SELECT max(id) FROM runs WHERE status <> 'undone'")
        return Facts(
            status=browse.status(store, stable=stable),
            run=int(last[0] or 0) if last else 0,
            domains=found,
            n_domains=store.number("SELECT count(*) FROM domains WHERE units >= ?", [min_units]),
            min_units=min_units,
            stable=stable,
            days=days,
            titles=titles,
            examples={
                number: [sentences[unit] for unit in chosen if unit in sentences]
                for number, chosen in units.items()
            },
            similarities={
                lang: _similar(
                    store, [d["id"] for d in found if d["lang"] == lang], compare, word_cut
                )
                for lang in sorted({domain["lang"] for domain in found})
            },
            measure=measure,
            validations=_last_validations(store),
            history=validations.validations(store, limit=HISTORY),
            changes=news.changes(store, run),
            names=validations.domain_labels(store),
        )


def _last_validations(store: Store) -> list[Mapping[str, Any]]:
    """The newest validation of each language, with sentences for the doubtful domains."""
    found: list[Mapping[str, Any]] = []
    for lang, at, text in store.rows(
        "SELECT c.lang, r.started_at, c.result FROM comparisons c JOIN runs r ON r.id = c.run"
        " WHERE c.kind = 'validate' AND c.id IN"
        " (SELECT max(id) FROM comparisons WHERE kind = 'validate' GROUP BY lang) ORDER BY c.lang"
    ):
        result = json.loads(text)
        doubtful = [v for v in result.get("verdicts", []) if v["verdict"] != "confirmed"][:24]
        words = {unit: v["words"] for v in doubtful for unit in v["example_units"]}
        sentences = validations.sentences(store, list(words), words)
        for verdict in doubtful:
            chosen = [sentences[u] for u in verdict["example_units"] if u in sentences]
            verdict["examples"] = chosen
        found.append({**result, "lang": lang, "at": at, "doubtful": doubtful})
    return found


def _similar(store: Store, numbers: list[int], compare: Compare | None, word_cut: float) -> Matrix:
    """How similar domains are, by the words that carry them."""
    weighed = browse.weighed(store, numbers, FEWEST, word_cut / 2)
    columns: dict[str, int] = {}
    indices, weights, occurrences, pointers = [], [], [], [0]
    for number in numbers:
        kept = [w for w in weighed[number] if w["weight"] > word_cut]
        for word in kept or weighed[number][:FEWEST]:
            indices.append(columns.setdefault(word["word"], len(columns)))
            weights.append(float(word["weight"]))
            occurrences.append(float(word["occurrences"]))
        pointers.append(len(indices))
    shape = (len(numbers), len(columns))
    rows, counts = (
        csr_array((np.array(values), indices, pointers), shape=shape)
        for values in (weights, occurrences)
    )
    if compare is not None and numbers:
        return compare(rows)
    profile = Profiles(tuple(numbers), tuple(columns), rows, counts)
    return similarities(profile, profile)
