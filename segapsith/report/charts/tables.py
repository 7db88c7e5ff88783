"""The contingency table of domains and clusters, as a heat map and as ribbons."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from markupsafe import Markup

from segapsith.evaluation.contingency import Contingency, Counts
from segapsith.report.charts.svg import number, picture, shorten, tag, text

__all__ = ["heat", "ribbons"]

WIDTH = 960.0
NAMES = 300.0
"""Width of the column of names."""
MAX_ROWS, MAX_RIBBON_ROWS = 40, 24
"""Number of domains in the heat map and in the ribbons; the largest are drawn."""
MAX_CLUSTERS = 48


def heat(
    table: Mapping[str, Any],
    domain_names: Mapping[Any, str],
    cluster_names: Mapping[Any, str],
    label: str,
    translate: Callable[[str], str] = str,
) -> Markup:
    """Draw the share of each domain (rows) in each cluster (columns), sorted towards the diagonal."""
    cells = _contingency(table)
    rows, columns = _sorted(cells, MAX_ROWS, MAX_CLUSTERS)
    size = min(26.0, (WIDTH - NAMES - 16) / max(1, len(columns)))
    height = 24 + size * len(rows) + 8
    column_at = {column: i for i, column in enumerate(columns)}
    row_at = {row: i for i, row in enumerate(rows)}
    parts = [
        tag("rect", x=NAMES, y=22, width=size * len(columns), height=size * len(rows),
            class_="ground"),
        text(NAMES, 14, f"{len(columns)} {translate('clusters')} →", "tick"),
    ]  # fmt: skip
    for row, column, count in zip(
        cells.left.tolist(), cells.right.tolist(), cells.counts.tolist(), strict=True
    ):
        if row not in row_at or column not in column_at:
            continue
        share = count / int(cells.left_sizes[row])
        if share < 0.01:
            continue
        domain, cluster = table["domains"][row], table["clusters"][column]
        parts.append(
            tag(
                "rect",
                tag(
                    "title",
                    f"{domain_names.get(domain, domain)} × {cluster_names.get(cluster, cluster)}:"
                    f" {count} units, {100 * share:.0f} % of the domain",
                ),
                x=NAMES + size * column_at[column] + 0.5,
                y=22 + size * row_at[row] + 0.5,
                width=size - 1,
                height=size - 1,
                class_="cell",
                fill_opacity=f"{0.12 + 0.88 * share:.2f}",
            )
        )
    for row, i in row_at.items():
        domain = table["domains"][row]
        parts.append(
            text(NAMES - 8, 22 + size * (i + 0.5) + 4, shorten(str(domain_names.get(domain, domain)), 40),
                 "leaf", "end")
        )  # fmt: skip
    return picture(WIDTH, height, label, parts)


def ribbons(
    table: Mapping[str, Any],
    domain_names: Mapping[Any, str],
    cluster_names: Mapping[Any, str],
    verdicts: Mapping[Any, str],
    label: str,
) -> Markup:
    """Draw domains on the left, clusters on the right, and a ribbon for the units they share."""
    cells = _contingency(table)
    rows, columns = _sorted(cells, MAX_RIBBON_ROWS, MAX_CLUSTERS)
    inside = [
        (row, column, count)
        for row, column, count in zip(
            cells.left.tolist(), cells.right.tolist(), cells.counts.tolist(), strict=True
        )
        if row in set(rows) and column in set(columns) and count * 33 >= cells.left_sizes[row]
    ]
    total = sum(count for _, _, count in inside) or 1
    scale = 420.0 / total
    left_x, right_x = 340.0, WIDTH - 340.0
    tops = [
        _stacked([sum(c for r, k, c in inside if (r, k)[side] == one) for one in order], scale)
        for side, order in enumerate((rows, columns))
    ]
    height = 10 + max(max((top + size for top, size in side), default=0.0) for side in tops)
    row_top = dict(zip(rows, tops[0], strict=True))
    column_top = dict(zip(columns, tops[1], strict=True))
    row_used, column_used = dict.fromkeys(rows, 0.0), dict.fromkeys(columns, 0.0)
    place = {column: i for i, column in enumerate(columns)}
    parts: list[Markup] = []
    for row, column, count in sorted(inside, key=lambda c: (rows.index(c[0]), place[c[1]])):
        thick = scale * count
        y0 = row_top[row][0] + row_used[row]
        y1 = column_top[column][0] + column_used[column]
        row_used[row] += thick
        column_used[column] += thick
        domain, cluster = table["domains"][row], table["clusters"][column]
        parts.append(
            tag(
                "path",
                tag("title", f"{domain_names.get(domain, domain)} → "
                             f"{cluster_names.get(cluster, cluster)}: {count} units"),
                d=_ribbon(left_x + 8, y0, right_x - 8, y1, thick),
                class_=f"ribbon v-{verdicts.get(domain, 'confirmed')}",
            )
        )  # fmt: skip
    for row, (top, size) in row_top.items():
        domain = table["domains"][row]
        kind = verdicts.get(domain, "confirmed")
        parts.append(
            tag("rect", x=left_x, y=top, width=8, height=max(1.0, size), class_=f"post v-{kind}")
        )
        name = shorten(str(domain_names.get(domain, domain)), 44)
        parts.append(text(left_x - 8, top + size / 2 + 4, name, "leaf", "end"))
    for column, (top, size) in column_top.items():
        cluster = table["clusters"][column]
        parts.append(
            tag("rect", x=right_x - 8, y=top, width=8, height=max(1.0, size), class_="post")
        )
        name = shorten(str(cluster_names.get(cluster, f"cluster {cluster}")), 44)
        parts.append(text(right_x + 8, top + size / 2 + 4, name, "leaf"))
    return picture(WIDTH, height, label, parts)


def _contingency(table: Mapping[str, Any]) -> Contingency:
    cells = np.asarray(table["cells"], dtype=np.int64).reshape(-1, 3)
    n_rows, n_columns = len(table["domains"]), len(table["clusters"])
    left, right, counts = cells[:, 0], cells[:, 1], cells[:, 2]
    return Contingency(
        tuple(table["domains"]), tuple(table["clusters"]), left, right, counts,
        _summed(left, counts, n_rows), _summed(right, counts, n_columns),
    )  # fmt: skip


def _summed(places: Counts, counts: Counts, size: int) -> Counts:
    sums = np.zeros(size, dtype=np.int64)
    np.add.at(sums, places, counts)
    return sums


def _sorted(cells: Contingency, max_rows: int, max_columns: int) -> tuple[list[int], list[int]]:
    """Return the largest domains and the clusters with their units, both in drawing order.

    Rows are sorted by size, columns by the row that most of their units come from, so that related
    domains and clusters meet on the diagonal.
    """
    rows = np.argsort(-cells.left_sizes, kind="stable")[:max_rows].tolist()
    position = {row: i for i, row in enumerate(rows)}
    weight: dict[int, dict[int, int]] = {}
    for row, column, count in zip(
        cells.left.tolist(), cells.right.tolist(), cells.counts.tolist(), strict=True
    ):
        if row in position:
            weight.setdefault(column, {})[position[row]] = count
    ranked = sorted(weight, key=lambda column: (-sum(weight[column].values()), column))
    best = {
        max(ranked, key=lambda column: weight[column].get(at, 0)): None for at in range(len(rows))
    }
    ranked = list(dict.fromkeys([*best, *ranked]))[:max_columns]
    columns = sorted(
        ranked,
        key=lambda column: (
            max(weight[column], key=lambda at: (weight[column][at], -at)),
            -max(weight[column].values()),
            column,
        ),
    )
    return rows, columns


def _stacked(sizes: Sequence[int], scale: float) -> list[tuple[float, float]]:
    """Return the top and height of each bar; a small one is centred on a line of text."""
    tops, y = [], 8.0
    for size in sizes:
        height = max(scale * size + 5, 16.0)
        tops.append((y + (height - scale * size) / 2, scale * size))
        y += height
    return tops


def _ribbon(x0: float, y0: float, x1: float, y1: float, thick: float) -> str:
    middle = number((x0 + x1) / 2)
    a, b, c, d = (number(value) for value in (y0, y1, y1 + thick, y0 + thick))
    return (
        f"M{number(x0)} {a}C{middle} {a} {middle} {b} {number(x1)} {b}"
        f"V{c}C{middle} {c} {middle} {d} {number(x0)} {d}Z"
    )
