"""The tree: groups are cut where there are most of them."""

from __future__ import annotations

import numpy as np

from segapsith.evaluation.compare import average_linkage_tree
from segapsith.report.charts import trees


def test_groups_are_the_cut_with_most_groups() -> None:
    blocks = np.kron(np.eye(3), np.full((3, 3), 0.7)) + 0.1
    np.fill_diagonal(blocks, 1)
    assert trees.colour_groups(average_linkage_tree(blocks), [1, 1, 1, 5, 5, 5, 2, 2, 2]) == [
        3,
        3,
        3,
        1,
        1,
        1,
        2,
        2,
        2,
    ]
    assert trees.colour_groups(average_linkage_tree(np.eye(2)), [1, 1]) == [0, 0]
