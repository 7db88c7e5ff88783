"""The table of domains and clusters: sorted towards its diagonal."""

from __future__ import annotations

import numpy as np

from segapsith.report.charts import tables


def test_the_table_is_sorted_towards_its_diagonal() -> None:
    shuffled = np.random.default_rng(0).permutation(20)
    cells = [[row, int(shuffled[row]), 100 - row] for row in range(20)]
    table = {"domains": list(range(20)), "clusters": list(range(20)), "cells": cells}
    rows, columns = tables._sorted(tables._contingency(table), 40, 48)
    assert columns == [int(shuffled[row]) for row in rows]
    few, _ = tables._sorted(tables._contingency(table), 5, 48)
    assert few == [0, 1, 2, 3, 4]
