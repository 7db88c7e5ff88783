"""The map: distances are those of the similarities, and discs stay in the picture."""

from __future__ import annotations

import numpy as np

from segapsith.report.charts import maps


def similar(size: int, seed: int = 0) -> np.ndarray:
    values = np.random.default_rng(seed).random((size, size))
    values = (values + values.T) / 2
    np.fill_diagonal(values, 1)
    return values


def test_a_map_keeps_the_distances_of_points_in_a_plane() -> None:
    points = np.random.default_rng(1).random((15, 2)) * 0.6
    apart = np.linalg.norm(points[:, None] - points[None], axis=2)
    placed = maps.positions(1 - np.maximum(apart, 0.02) * (1 - np.eye(15)))
    found = np.linalg.norm(placed[:, None] - placed[None], axis=2)
    assert np.corrcoef(found.ravel(), apart.ravel())[0, 1] > 0.98
    assert (maps.positions(similar(9)) == maps.positions(similar(9))).all()


def test_discs_stay_in_the_picture_and_hardly_overlap() -> None:
    radii = np.full(30, 20.0)
    at = maps._spread(maps.positions(np.eye(30)), radii)
    assert (at > 20).all() and (at[:, 0] < maps.WIDTH - 20).all() and (at[:, 1] < maps.HEIGHT).all()
    between = np.linalg.norm(at[:, None] - at[None], axis=2)[~np.eye(30, dtype=bool)]
    assert between.min() > 38


def test_large_discs_that_do_not_touch_stay_in_the_picture() -> None:
    radii = np.full(4, 60.0)
    at = maps._spread(np.array([[0.0, 1.0], [0.0, -1.0], [1.0, 0.0], [-1.0, 0.0]]), radii)
    assert (at >= 60).all() and (at[:, 1] <= maps.HEIGHT - 60).all()
