"""The public API as types: mypy fails here if a name, a parameter or a result changes.

This file is checked and never run; `tests/test_public_names.py` checks the same names at run time.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, assert_type

import segapsith
from segapsith import compare, errors, io, jit, metrics, model, plugin
from segapsith.api.classification import Classification, ClassifiedUnit
from segapsith.api.clustering import Clustering
from segapsith.api.comparison import PartitionComparison
from segapsith.api.curation import (
    DomainPart,
    Locked,
    Merged,
    Renamed,
    Reopened,
    Retired,
    Split,
    Unlocked,
)
from segapsith.api.maintenance import MergedSimilar, Reassigned, SplitBroad
from segapsith.api.network import BuiltNetwork
from segapsith.api.runs import Undone
from segapsith.api.segmentation import Segment
from segapsith.api.tuning import EndedTarget, ThresholdSearch
from segapsith.api.validation import Curve, Drift, OrderEffect, ValidationResult
from segapsith.api.wire import AllowedAgain, Forgotten, ForgottenDocument
from segapsith.engine.runs import RunSummary
from segapsith.evaluation.validation import KappaValues, Links, MantelSummary
from segapsith.evaluation.verdicts import Verdict
from segapsith.testing import similarity_checks


def learning() -> None:
    with segapsith.open("wire.db", threshold=0.2, change_learning=True) as wire:
        assert_type(wire, segapsith.Wire)
        story = {"id": "a", "text": "The river rose.", "date": "2024-05-01"}
        document = segapsith.Document(uid="b", title="Flood", body="The river rose.")
        assert_type(
            wire.ingest([story, document], name="first", dry_run=False, on_batch=print), RunSummary
        )
        assert_type(wire.learn([{"id": "c", "words": {"river": 2}}], name="units"), RunSummary)
        assert_type(wire.forget("a"), ForgottenDocument)
        assert_type(wire.forget("a", "b"), Forgotten)
        assert_type(wire.forget(["a", "b"]), Forgotten)
        assert_type(wire.allow_again("a"), AllowedAgain)
    segapsith.open(Path("wire.db")).close()
    segapsith.open(":memory:").close()


def domains(wire: segapsith.Wire) -> None:
    wire.domains(min_units=15)
    wire.domains.list(top=5, since="2024-05-01", limit=3, lang="en", as_of=2, days=True)
    wire.domains.show(1, top=10, near=3)
    assert_type(wire.domains.forgotten_since(2), int)
    assert_type(wire.domains.rename(1, "Floods"), Renamed)
    assert_type(wire.domains.merge([1, 2], into=2), Merged)
    assert_type(wire.domains.split(1, [3, 4]), Split)
    assert_type(wire.domains.split(1, parts=3, seed=1).parts, list[DomainPart])
    assert_type(wire.domains.retire([1]), Retired)
    assert_type(wire.domains.reopen([1]), Reopened)
    assert_type(wire.domains.lock([1]), Locked)
    assert_type(wire.domains.unlock([1]), Unlocked)
    assert_type(wire.domains.merge_similar(similarity=0.8, after=10, dry_run=True), MergedSimilar)
    assert_type(wire.domains.split_broad(threshold=0.2, after=3, dry_run=True), SplitBroad)
    assert_type(wire.domains.reassign(similarity=0.3), Reassigned)
    assert_type(wire.domains.refine(2), Reassigned)


def topics_runs_network(wire: segapsith.Wire) -> None:
    wire.topics()
    wire.topics.list(similarity="cosine", clusterer="ahc", settings={"linkage": "ward"}, k=5)
    assert_type(wire.topics.regroup(k=5), int | None)
    wire.topics.rename(1, "Weather")
    wire.sections()
    wire.sections.list(similarity="cosine", clusterer="ahc", settings={"linkage": "ward"}, k=5)
    assert_type(wire.sections.regroup(k=5), int | None)
    wire.sections.rename(1, "Weather")
    wire.sections.at("2026-03-01", top=3)
    assert_type(wire.events.list(since="2026-03-01", domain=3, limit=5)[0].closed, bool)
    wire.runs()
    wire.runs.list(limit=5)
    assert_type(wire.runs.undo(), Undone)
    assert_type(wire.runs.undo(3).run, int)
    assert_type(wire.network.of("en"), segapsith.Network)
    wire.network.status()
    wire.network.neighbours("river", lang="en", top=5)
    assert_type(wire.network.build([{"text": "The river rose."}]), BuiltNetwork)


def validation(wire: segapsith.Wire) -> None:
    result = wire.validate(clusterer=["a", "b"], k=[3, 5], min_units=15, word_cut=0.03, last=100)
    assert_type(result, ValidationResult)
    assert_type(wire.validation.run(), ValidationResult)
    assert_type(result.kappa, KappaValues)
    assert_type(result.links, Links)
    assert_type(result.verdicts, list[Verdict])
    assert_type(result.kappa.greedy, float | None)
    assert_type(result.mantel, MantelSummary | None)
    wire.validation.history(lang="en", limit=3)
    assert_type(wire.validation.drift(since=1, until="2024-05-01"), Drift)
    assert_type(wire.validation.curve(thresholds=[0.1, 0.2], nightly=True), Curve)
    assert_type(wire.validation.order(shuffles=3, seed=1), OrderEffect)
    assert_type(wire.compare("wire.db", "labels.jsonl", field="label"), PartitionComparison)
    assert_type(wire.cluster(clusterer="ahc", similarity="cosine", k=5), Clustering)


def threshold(wire: segapsith.Wire) -> None:
    assert_type(wire.tune(target_new_rate=0.2), ThresholdSearch)
    assert_type(wire.threshold.search(target_singletons=0.5, keep=True), ThresholdSearch)
    assert_type(wire.threshold.unfollow(), EndedTarget)
    assert_type(wire.threshold.override_reason(), str | None)


def queries(wire: segapsith.Wire) -> None:
    assert_type(wire.classify("The river rose.", title="Flood", top=1, lang="en"), Classification)
    assert_type(wire.classify("The river rose.").units, list[ClassifiedUnit])
    wire.search("river", limit=5)
    wire.explain(1)
    wire.status().as_json()
    wire.verify()
    assert_type(wire.snapshot(lang="en"), segapsith.Snapshot)
    assert_type(wire.report(min_units=2, since=0, similarity="cosine"), str)


def parts(rows: segapsith.Rows) -> None:
    similarity = segapsith.similarity("chi-sim", k=0.8, prune=0.6, iterations=4)
    similarity.learn(rows)
    assert_type(similarity.compare(rows, rows), segapsith.Matrix)
    similarity.columns()
    labels = segapsith.clusterer("ahc", k=5, linkage="ward").cluster(rows, similarity.compare)
    assert_type(labels, segapsith.Labels)
    assert_type(segapsith.segment("The river rose.", lang="en", store=None), list[Segment])
    assert_type(segapsith.load_plugins(), plugin.Registry)
    assert_type(metrics.nmi([0, 1], [0, 1]), float)
    assert_type(compare.kappa([0, 1], [0, 1], mapping="greedy"), float)


class Lines:
    """A source, as its author writes it."""

    def sniff(self, head: bytes) -> float:
        return 0.0 if io.is_binary(head) else 0.1

    def read(self, stream: BinaryIO, name: str) -> Iterator[segapsith.Document | segapsith.Reject]:
        for line in stream:
            text = io.repair_text(io.decode(line))
            if len(text) > io.MAX_ITEM_CHARS:
                yield segapsith.Reject(name, "the line is too long")
            else:
                yield segapsith.Document(body=io.html_to_text(text))


@segapsith.hookimpl
def register_sources() -> dict[str, type[segapsith.Source]]:
    return {"lines": Lines}


def names() -> None:
    assert_type(errors.SegapsithError.exit_code, int)
    assert issubclass(errors.UsageError, segapsith.SegapsithError)
    assert_type(model.Document().text, str)
    assert_type(io.parse_xml("<a/>"), io.Element)
    assert similarity_checks
    jit.kernel(names)
