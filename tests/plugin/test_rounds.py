"""Clusterers whose work divides into parts."""

from __future__ import annotations

from collections.abc import Generator, Sequence

import numpy as np
import pytest
from scipy.sparse import csr_array

from segapsith.arrays import Compare, Labels, Rows
from segapsith.errors import PluginError
from segapsith.plugin.contracts import clusters_in_parts
from segapsith.plugin.guards import GuardedClusterer, PluginName
from segapsith.plugin.registry import load_plugins
from segapsith.plugin.rounds import cluster_in_turn, run_rounds

ROWS = csr_array(np.eye(4))


class Halving:
    """Two rounds: the first returns numbers, the second doubles the last of them."""

    def cluster(self, rows: Rows, compare: Compare | None) -> Labels:
        return cluster_in_turn(self, rows, compare)

    def prepare(self, rows: Rows, compare: Compare | None) -> int:
        return int(rows.shape[0])

    def rounds(self, prepared: int) -> Generator[Sequence[int], Sequence[int], Labels]:
        first = yield range(1, 4)
        (last,) = yield [first[-1]]
        return np.arange(prepared) % last

    def part(self, prepared: int, part: int) -> int:
        if part > prepared + 2:
            raise ValueError("too many")
        return part if part < 3 else part - 1


def guarded(plugin: object) -> GuardedClusterer:
    return GuardedClusterer(plugin, PluginName("clusterer", "halving", "tests"))


def test_results_of_a_round_decide_the_next() -> None:
    assert Halving().cluster(ROWS, None).tolist() == [0, 1, 0, 1]


def test_rounds_are_done_by_whoever_is_asked() -> None:
    seen: list[list[int]] = []

    def do(parts: Sequence[int]) -> list[int]:
        seen.append(list(parts))
        return [Halving().part(4, part) for part in parts]

    assert run_rounds(Halving(), 4, do).tolist() == [0, 1, 0, 1]
    assert seen == [[1, 2, 3], [2]]


def test_a_guarded_clusterer_has_parts_if_the_plugin_has() -> None:
    assert clusters_in_parts(guarded(Halving()))
    registry = load_plugins(only_own=True)
    assert registry.having("clusterer", clusters_in_parts) == [
        "bvd", "entropy-kmeans", "itcc", "kmedoids", "mvkm", "rsn", "spherical-kmeans",
    ]  # fmt: skip
    assert not clusters_in_parts(registry.make("clusterer", "ahc"))


def test_a_part_that_fails_names_its_plugin() -> None:
    with pytest.raises(PluginError, match=r"halving.*too many"):
        guarded(Halving()).part(0, 9)


def test_labels_made_in_parts_are_checked() -> None:
    with pytest.raises(PluginError, match="without gaps"):
        guarded(Halving()).checked(np.array([0, 2, 2, 2]), ROWS)
