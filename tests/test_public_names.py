"""The names that users may rely on; everything else may move."""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path

import pytest

import segapsith
from segapsith.api.session import Session
from segapsith.model import Result

PROMISED = {
    "segapsith": """
        Agreement Annotation Annotator Clusterer Compare Comparison Document Executor Exporter Labeller Labels Lexicon Notice Notifier
        Matrix Network Reject Result Rows SegapsithError Segmenter Similarity Snapshot Source State
        Subject Unit Views Wire __version__ clusterer compare federate hookimpl load_plugins metrics open
        prepare segment
        similarity
    """,
    "segapsith.io": """
        Element MAX_ITEM_CHARS MAX_JSON_VALUES MAX_LINE_BYTES MAX_PAGE_BYTES MAX_TEXT_CHARS
        MAX_WHOLE_BYTES Page XmlError XmlItem decode decode_stream detect_encoding html_to_text
        is_binary looks_like_html parse_page parse_xml repair_text iter_xml_items xml_root_name
    """,
    "segapsith.plugin": """
        ABILITIES Annotator Clusterer Comparison Executor Exporter Followable HasCurve HasExample
        HasFactors HasProductForm KINDS Labeller LearnedRowsOnly LiveSource NETWORK_PARTS NamesColumns Notifier ProductForm Registry Segmenter SharedValue Similarity Source
        TakesViews UnitDiagonal
        UsesNetworkParts hookimpl load_plugins
    """,
}
"""Packages whose list of names is exactly this one."""

PROMISED_AT_LEAST = {
    "segapsith.arrays": "Compare Labels Matrix Rows State Views",
    "segapsith.compare": """
        coverage kappa link_by_entropy link_by_similarity mantel mantel_from_margins
    """,
    "segapsith.errors": "ConfigurationError PluginError SegapsithError SettingError UsageError",
    "segapsith.jit": "kernel",
    "segapsith.metrics": """
        ari bcubed entropy f_measure micro_precision nmi pk purity van_dongen
        variation_of_information window_diff
    """,
    "segapsith.model": """
        Agreement Annotation Document Lexicon Network Reject Result Snapshot Unit
    """,
    "segapsith.testing": """
        annotator_checks clusterer_checks comparison_checks executor_checks exporter_checks labeller_checks
        segmenter_checks similarity_checks source_checks
    """,
}

CALLS = """
    allow_again classify cluster compare explain forget frame ingest learn report search snapshot status
    today tune validate verify
    domains.list domains.lock domains.merge domains.merge_similar domains.reassign domains.refine
    domains.rename domains.reopen domains.retire domains.show domains.split domains.split_broad
    domains.unlock
    events.list
    network.build network.neighbours network.of network.status
    runs.list runs.undo
    threshold.follow threshold.override_reason threshold.search threshold.unfollow
    topics.list topics.regroup topics.rename
    validation.curve validation.drift validation.history validation.order validation.run
"""
"""What can be called on an open store."""


@pytest.mark.parametrize("module", PROMISED)
def test_a_package_offers_exactly_the_promised_names(module: str) -> None:
    package, names = importlib.import_module(module), PROMISED[module].split()
    assert sorted(package.__all__) == sorted(names)
    assert sorted(dir(package)) == sorted(names)
    assert [name for name in names if not hasattr(package, name)] == []


@pytest.mark.parametrize("module", PROMISED_AT_LEAST)
def test_a_module_offers_the_promised_names(module: str) -> None:
    names = importlib.import_module(module)
    assert [name for name in PROMISED_AT_LEAST[module].split() if not hasattr(names, name)] == []


def test_an_unknown_name_is_an_attribute_error() -> None:
    for module in PROMISED:
        with pytest.raises(AttributeError, match="nothing"):
            importlib.import_module(module).nothing  # noqa: B018  # reading it is the test


def test_an_open_store_has_the_promised_calls() -> None:
    with segapsith.open(":memory:") as wire:
        for path in CALLS.split():
            call: object = wire
            for name in path.split("."):
                call = getattr(call, name)
            assert callable(call) and inspect.getdoc(call), path


def test_every_promised_call_has_a_line_in_the_reference() -> None:
    page = (Path(__file__).parents[1] / "docs" / "reference" / "python.md").read_text("utf-8")
    short = {f"{path.split('.')[-1]}(" for path in CALLS.split() if not path.endswith("list")}
    assert sorted(name for name in short if f".{name}" not in page) == []
    assert [
        name for name in PROMISED["segapsith.io"].split() if name.islower() and name not in page
    ] == []


def test_groups_can_be_called_and_then_list() -> None:
    with segapsith.open(":memory:") as wire:
        for group in (wire.domains, wire.topics, wire.sections, wire.events, wire.runs):
            called, listed = inspect.signature(group.__call__), inspect.signature(group.list)
            assert called == listed
            assert group() == group.list()


def test_every_result_of_the_api_is_frozen_and_has_a_json_form() -> None:
    modules = ("classification", "clustering", "comparison", "curation", "wire",
               "network", "runs", "segmentation", "tuning", "validation")  # fmt: skip
    kinds = {
        kind
        for name in modules
        for kind in vars(importlib.import_module(f"segapsith.api.{name}")).values()
        if inspect.isclass(kind)
    }
    results = {kind for kind in kinds if issubclass(kind, Result) and kind is not Result}
    assert len(results) > 30
    assert [kind for kind in results if not kind.__dataclass_params__.frozen] == []  # type: ignore[attr-defined]  # results are dataclasses


def test_an_open_store_is_a_session() -> None:
    """What the groups are given is the store itself: one lock, one snapshot, one engine."""
    assert issubclass(segapsith.Wire, Session)
