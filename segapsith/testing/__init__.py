"""Checks that plugin authors import: the contract of each kind, as plain asserts.

One tuple of checks for each kind. A check takes a factory, which is anything that gives a fresh
plugin when it is called without arguments (a class will do), and raises an `AssertionError` that
names the plugin, what was found and what was wanted:

    @pytest.mark.parametrize("check", similarity_checks, ids=lambda check: check.__name__)
    def test_it_keeps_the_contract(check):
        check(Dice)

`segapsith plugins check NAME` runs the same checks on what is installed.
"""

from __future__ import annotations

from segapsith.testing.annotators import annotator_checks
from segapsith.testing.clusterers import clusterer_checks
from segapsith.testing.comparisons import comparison_checks
from segapsith.testing.examples import (
    example_annotation,
    example_documents,
    example_rows,
    example_snapshot,
)
from segapsith.testing.executors import executor_checks
from segapsith.testing.exporters import exporter_checks
from segapsith.testing.kit import SECONDS, Check, TooSlowError
from segapsith.testing.labellers import labeller_checks
from segapsith.testing.notifiers import notifier_checks
from segapsith.testing.segmenters import segmenter_checks
from segapsith.testing.similarities import similarity_checks
from segapsith.testing.sources import source_checks

__all__ = [
    "CHECKS",
    "SECONDS",
    "Check",
    "TooSlowError",
    "annotator_checks",
    "clusterer_checks",
    "comparison_checks",
    "example_annotation",
    "example_documents",
    "example_rows",
    "example_snapshot",
    "executor_checks",
    "exporter_checks",
    "labeller_checks",
    "notifier_checks",
    "segmenter_checks",
    "similarity_checks",
    "source_checks",
]

CHECKS: dict[str, tuple[Check, ...]] = {
    "source": source_checks,
    "annotator": annotator_checks,
    "segmenter": segmenter_checks,
    "similarity": similarity_checks,
    "clusterer": clusterer_checks,
    "comparison": comparison_checks,
    "exporter": exporter_checks,
    "labeller": labeller_checks,
    "notifier": notifier_checks,
    "executor": executor_checks,
}
"""Kind of plugin and its checks."""
