"""Domains as a map: similar domains are close together, and large ones are large discs."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from markupsafe import Markup

from segapsith.arrays import Matrix
from segapsith.model import Record
from segapsith.report.charts.svg import picture, shorten, tag, text

__all__ = ["draw", "positions"]

WIDTH, HEIGHT = 960.0, 600.0
MAX_ITERATIONS = 300


def positions(similarities: Matrix) -> Matrix:
    """Return a point in the plane for each item, with distances close to 1 - similarity.

    Classical scaling (Torgerson 1952) is followed by majorisation (de Leeuw 1977). Signs are fixed,
    so that the same similarities give the same map.
    """
    size = len(similarities)
    if size < 2:
        return np.zeros((size, 2))
    apart = np.clip(1.0 - (similarities + similarities.T) / 2, 0.02, None)
    np.fill_diagonal(apart, 0.0)
    points = _classical(apart)
    for _ in range(MAX_ITERATIONS):
        between = np.linalg.norm(points[:, None] - points[None], axis=2)
        ratio = np.where(between > 1e-9, apart / np.maximum(between, 1e-9), 0.0)
        pull = -ratio
        np.fill_diagonal(pull, 0.0)
        np.fill_diagonal(pull, -pull.sum(axis=1))
        points = pull @ points / size
    centred: Matrix = points - points.mean(axis=0)
    return centred


def _classical(apart: Matrix) -> Matrix:
    size = len(apart)
    squares = apart**2
    centred = squares - squares.mean(axis=0) - squares.mean(axis=1)[:, None] + squares.mean()
    values, vectors = np.linalg.eigh(-centred / 2)
    points = vectors[:, -2:][:, ::-1] * np.sqrt(np.maximum(values[-2:][::-1], 1e-6))
    strongest = np.abs(points).argmax(axis=0)
    points = points * np.where(points[strongest, [0, 1]] < 0, -1.0, 1.0)
    # equal items would share one point and never separate, so a fixed spiral is added
    turn = np.arange(size) * math.pi * (3 - math.sqrt(5))
    spiral = np.column_stack([np.cos(turn), np.sin(turn)]) * np.sqrt(np.arange(size) + 0.5)[:, None]
    nudged: Matrix = points + 0.02 * spiral / math.sqrt(size)
    return nudged


def draw(
    domains: Sequence[Record],
    similarities: Matrix,
    groups: Sequence[int],
    label: str,
    *,
    link: str = "#domain-{}",
) -> Markup:
    """Draw the map of domains; `groups` are their colours, 0 for none.

    A disc leads to `link`, with the id of its domain put in.
    """
    radii = _radii([domain["units"] for domain in domains])
    points = _spread(positions(similarities), radii)
    circles = [(x, y, r) for (x, y), r in zip(points.tolist(), radii.tolist(), strict=True)]
    occupied: list[tuple[float, ...]] = []
    discs, names = [], []
    for i in np.argsort(-radii, kind="stable").tolist():
        domain, (x, y), r = domains[i], points[i].tolist(), float(radii[i])
        disc = tag("circle", cx=x, cy=y, r=r, class_=f"disc g{groups[i]}")
        title = tag("title", f"{domain['label']} ({domain['units']} units)")
        discs.append(
            tag(
                "a", title, disc,
                href=link.format(domain["id"]),
                aria_label=f"domain {domain['id']}: {domain['label']}, {domain['units']} units",
            )
        )  # fmt: skip
        names += _name(domain, i, circles, occupied)
    return picture(WIDTH, HEIGHT, label, [*discs, *names], "picture map", "group")


def _radii(sizes: Sequence[int]) -> Matrix:
    """Return radii whose discs cover about a sixth of the map together, area by number of units."""
    areas = np.asarray(sizes, dtype=np.float64)
    scale = math.sqrt(WIDTH * HEIGHT / 6.0 / (math.pi * max(1.0, float(areas.sum()))))
    radii: Matrix = np.clip(np.sqrt(areas) * scale, 5.0, 60.0)
    return radii


def _spread(points: Matrix, radii: Matrix) -> Matrix:
    """Scale the points to the frame and push the discs apart until they hardly overlap."""
    span = np.maximum(np.abs(points).max(axis=0), 1e-9) if len(points) else np.ones(2)
    frame = np.array([WIDTH / 2 - 90, HEIGHT / 2 - 50])
    middle = np.array([WIDTH / 2, HEIGHT / 2])
    at: Matrix = _inside(middle + points / span * frame, radii)
    for _ in range(120):
        gaps = at[:, None] - at[None]
        length = np.linalg.norm(gaps, axis=2)
        distance = radii[:, None] + radii[None] + 12.0
        np.fill_diagonal(distance, 0.0)
        push = np.maximum(distance - length, 0.0)
        if not push.any():
            break
        way = gaps / np.maximum(length, 1e-6)[:, :, None]
        at = _inside(at + 0.3 * (way * push[:, :, None]).sum(axis=1), radii)
    return at


def _inside(at: Matrix, radii: Matrix) -> Matrix:
    """Move discs that cross an edge of the map inside, with space for a name below."""
    low = radii + 4.0
    x = np.clip(at[:, 0], low, WIDTH - low)
    y = np.clip(at[:, 1], low, HEIGHT - 8.0 - low)
    return np.column_stack([x, y])


def _name(
    domain: Record,
    own: int,
    circles: Sequence[tuple[float, float, float]],
    occupied: list[tuple[float, ...]],
) -> list[Markup]:
    """Return the first words of a domain in, below, above or beside its disc, where space is free."""
    lines = [shorten(word["word"], 18) for word in domain["words"][:2]]
    if not lines:
        return []
    x, y, r = circles[own]
    width, height = 7.2 * max(map(len, lines)), 14.0 * len(lines)
    places = [
        (x, y + r + 3),
        (x, y - r - height - 3),
        (x + r + 5 + width / 2, y - height / 2),
        (x - r - 5 - width / 2, y - height / 2),
    ]
    within = (x, y - height / 2)
    if math.hypot(width, height) < 2 * r:
        places = [within]
    elif r > 16:
        places.append(within)
    for cx, top in places:
        box = (cx - width / 2, top, cx + width / 2, top + height)
        fits = box[0] >= 0 and box[1] >= 0 and box[2] <= WIDTH and box[3] <= HEIGHT
        free = (cx, top) == within or not any(
            _touches(box, circle) for i, circle in enumerate(circles) if i != own
        )
        if fits and free and not any(_overlap(box, other) for other in occupied):
            occupied.append(box)
            return [
                text(cx, top + 11 + 14 * i, line, "name", "middle") for i, line in enumerate(lines)
            ]
    return []


def _touches(box: tuple[float, ...], circle: tuple[float, float, float]) -> bool:
    x, y, r = circle
    away = (max(box[0] - x, 0.0, x - box[2]), max(box[1] - y, 0.0, y - box[3]))
    return math.hypot(*away) < r


def _overlap(a: tuple[float, ...], b: tuple[float, ...]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
