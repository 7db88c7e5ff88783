"""Domains as a tree: which domains join, and at which similarity."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from markupsafe import Markup

from segapsith.arrays import Matrix
from segapsith.evaluation.compare import Tree
from segapsith.model import Record
from segapsith.report.charts.svg import number, picture, shorten, tag, text

__all__ = ["colour_groups", "draw"]

WIDTH = 960.0
STEP = 21.0
NAMES = 470.0
TOP = 28.0
COLOURS = 8


def colour_groups(tree: Tree, units: Sequence[int]) -> list[int]:
    """Return a colour for each leaf: 1 to 8 for the groups with most units, 0 for all others.

    The tree is cut at the level with the largest number of groups of at least two domains; of equal
    levels, at the lowest.
    """
    size = len(units)
    if size < 3:
        return [0] * size
    best: tuple[int, list[list[int]]] = (0, [])
    members: dict[int, list[int]] = {leaf: [leaf] for leaf in range(size)}
    heights = [*tree.joins[:, 2].tolist(), float("inf")]
    for step, (left, right, *_) in enumerate(tree.joins.tolist()):
        members[size + step] = members.pop(int(left)) + members.pop(int(right))
        if heights[step + 1] <= heights[step] + 1e-9:
            continue  # the level is not complete
        groups = [group for group in members.values() if len(group) > 1]
        if len(groups) > best[0]:
            best = (len(groups), groups)
    colours = [0] * size
    ranked = sorted(best[1], key=lambda group: (-sum(units[leaf] for leaf in group), min(group)))
    for colour, group in enumerate(ranked[:COLOURS], 1):
        for leaf in group:
            colours[leaf] = colour
    return colours


def draw(domains: Sequence[Record], tree: Tree, groups: Sequence[int], label: str) -> Markup:
    """Draw the tree of domains, leaves on the left, similarity from left to right."""
    size = len(domains)
    order = _leaves(tree.joins, size)
    height = TOP + STEP * size + 8
    y = {leaf: TOP + STEP * (place + 0.5) for place, leaf in enumerate(order)}
    reach = WIDTH - NAMES - 20
    top = max(float(tree.joins[-1, 2]), 1e-9) if len(tree.joins) else 1.0
    parts = [*_scale(height, reach, top)]
    at = {leaf: NAMES for leaf in range(size)}
    colour: dict[int, int] = dict(enumerate(groups))
    for step, (left, right, apart, _) in enumerate(tree.joins.tolist()):
        a, b, node = int(left), int(right), size + step
        x = NAMES + reach * apart / top
        colour[node] = colour[a] if colour[a] == colour[b] else 0
        parts.append(
            tag(
                "path",
                d=f"M{number(at[a])} {number(y[a])}H{number(x)}V{number(y[b])}H{number(at[b])}",
                class_=f"branch b{colour[node]}",
            )
        )
        at[node], y[node] = x, (y[a] + y[b]) / 2
    for leaf in order:
        domain = domains[leaf]
        name = ", ".join(word["word"] for word in domain["words"][:4]) or domain["label"]
        title = tag("title", f"{domain['label']} ({domain['units']} units)")
        words = text(NAMES - 12, y[leaf] + 4, shorten(name, 56), "leaf", "end")
        dot = tag("circle", cx=NAMES - 4, cy=y[leaf], r=4, class_=f"disc g{groups[leaf]}")
        parts.append(
            tag(
                "a", title, words, dot,
                href=f"#domain-{domain['id']}",
                aria_label=f"domain {domain['id']}: {name}",
            )
        )  # fmt: skip
    return picture(WIDTH, height, label, parts, "picture tree", "group")


def _scale(height: float, reach: float, top: float) -> list[Markup]:
    """Return the scale of similarities along the top."""
    parts = []
    for tick in np.arange(0, 1.01, 0.2).round(1).tolist():
        if 1 - tick > top + 1e-9:
            continue
        x = NAMES + reach * (1 - tick) / top
        parts.append(
            tag("path", d=f"M{number(x)} {number(TOP - 6)}V{number(height)}", class_="rule")
        )
        parts.append(text(x, TOP - 11, f"{tick:g}", "tick", "middle"))
    return [*parts, text(NAMES - 12, TOP - 11, "similarity →", "tick", "end")]


def _leaves(joins: Matrix, size: int) -> list[int]:
    """Return the leaves from top to bottom, so that no branches cross; larger subtrees first."""
    if not len(joins):
        return list(range(size))
    members: dict[int, list[int]] = {leaf: [leaf] for leaf in range(size)}
    for step, (left, right, *_) in enumerate(joins.tolist()):
        a, b = members.pop(int(left)), members.pop(int(right))
        members[size + step] = a + b if (-len(a), min(a)) <= (-len(b), min(b)) else b + a
    (order,) = members.values()
    return order
