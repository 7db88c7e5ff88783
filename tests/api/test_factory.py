"""The factory makes what the settings select, and settings of plugins reach the right one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from segapsith.api.factory import Factory
from segapsith.api.topics import topic_grouping
from segapsith.errors import ConfigurationError, SettingError, UsageError
from segapsith.model import Document
from segapsith.plugin.registry import load_plugins
from segapsith.settings import resolve

REGISTRY = load_plugins(only_own=True)


def factory(plugins: dict[str, Any] | None = None, **flags: Any) -> Factory:
    return Factory(resolve(flags, plugins, environment={}), REGISTRY)


def test_all_sources_are_made_or_the_one_of_a_format() -> None:
    assert sorted(factory().sources()) == REGISTRY.names("source")
    assert list(factory().sources("jsonl")) == ["jsonl"]


def test_named_inputs_are_read_by_what_recognises_them(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"id": "1", "text": "A flood."}\n{"id": "2", "words": {"flood": 2}}\n')
    items = list(factory().inputs([str(path)]).items())
    assert next(item.uid for item in items if isinstance(item, Document)) == "1"
    bags = list(factory().inputs([str(path)], bag=True).items())
    assert [item.uid for item in bags if isinstance(item, Document)] == ["2"]


def test_a_fetcher_is_needed_for_addresses_and_for_full_texts() -> None:
    assert not factory().needs_fetcher(["a.jsonl", "-"])
    assert factory().needs_fetcher(["a.jsonl", "https://a.example/feed"])
    assert factory(full_text=True).needs_fetcher(["a.jsonl"])


@pytest.mark.parametrize("key", ["min_words", "segmenter.min_words", "cohesion.min_words"])
def test_a_setting_of_a_plugin_is_recorded_under_its_role(key: str) -> None:
    assert factory({key: 9}).learning_settings().plugins == {"segmenter.min_words": 9}


@pytest.mark.parametrize("key", ["threshold", "engine.threshold"])
def test_the_engine_takes_its_settings_by_role_or_name(key: str) -> None:
    made = factory({key: 0.3}, threshold=0.2)
    assert made.placing().threshold == 0.3
    assert made.overruled == "threshold=0.3 (flag)"


def test_a_plugin_that_is_not_in_use_is_refused_as_a_flag_only(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="no plugin in use is called 'chi-sim'"):
        factory({"chi-sim.k": 0.8}).learning_settings()
    path = tmp_path / "mine.toml"
    path.write_text("[set.chi-sim]\nk = 0.8\n[set.cohesion]\nmin_words = 9\n")
    made = Factory(resolve(file=str(path), environment={}), REGISTRY)
    assert made.learning_settings().plugins == {"segmenter.min_words": 9}
    given = made.settings.plugins
    assert made.sorted_settings("chi-sim", "ahc", given) == ({"k": 0.8}, {})
    assert made.sorted_settings("cosine", "ahc", given) == ({}, {})


def test_a_name_of_similarity_and_clusterer_needs_a_prefix() -> None:
    with pytest.raises(SettingError, match=r"write ahc\.k or chi-sim\.k"):
        factory().sorted_settings("chi-sim", "ahc", {"k": 3})
    both = factory().sorted_settings("chi-sim", "ahc", {"chi-sim.k": 0.8, "clusterer.k": 3})
    assert both == ({"k": 0.8}, {"k": 3})


def test_a_seed_goes_to_each_plugin_that_has_one() -> None:
    assert factory().sorted_settings(None, "entropy-kmeans", {"seed": 4}) == ({}, {"seed": 4})
    assert factory().sorted_settings("cosine", "ahc", {"seed": 4}) == ({}, {})


def test_a_number_may_be_given_with_a_prefix() -> None:
    assert factory().needs_number("entropy-kmeans", {})
    for key in ("k", "clusterer.k", "entropy-kmeans.k"):
        assert not factory().needs_number("entropy-kmeans", {key: 3})


def test_a_measure_of_learned_rows_cannot_place() -> None:
    with pytest.raises(ConfigurationError, match="compares only rows that it has learned") as error:
        factory(placement="snos").learning()
    assert (error.value.setting, error.value.plugin) == ("placement", "snos")


def test_topics_are_grouped_with_the_floor_of_the_placement_unless_another_is_given() -> None:
    assert topic_grouping(factory(min_weight=0.1)).settings.min_weight == 0.1
    given = topic_grouping(factory(), settings={"topics.min_weight": 0.2, "power": 0.5}).settings
    assert (given.min_weight, given.power) == (0.2, 0.5)
    with pytest.raises(SettingError, match="power=7"):
        topic_grouping(factory(), settings={"power": 7})
    with pytest.raises(UsageError, match="-k N"):
        topic_grouping(factory(), "cosine", "entropy-kmeans")


@pytest.mark.parametrize(("n_processors", "n_readers"), [(2, 1), (8, 7)])
def test_auto_leaves_a_processor_to_the_process_that_places(
    monkeypatch: pytest.MonkeyPatch, n_processors: int, n_readers: int
) -> None:
    for module in ("segapsith.parallel.choice", "segapsith.api.factory"):
        monkeypatch.setattr(f"{module}.available_processors", lambda: n_processors)
    made = factory(workers="auto")
    assert made._reading_executor.n_workers == n_readers
    assert made._reading_executor is made._reading_executor
    assert made.executor.n_workers == n_processors
    made.close()
    assert factory(workers="3")._reading_executor.n_workers == 3


@pytest.mark.parametrize(
    ("workers", "message"),
    [
        ("processes:0", "workers='processes:0': processes:0 should be processes:N with N >= 1"),
        ("dask:host", "workers='dask:host': dask:host should be dask:N with N >= 1, or dask:tcp:"),
        ("tcp://host:8786", "workers='tcp://host:8786': no executor is called 'tcp' (known: dask,"),
    ],
)
def test_workers_that_do_not_exist_are_refused_with_the_forms_that_do(
    workers: str, message: str
) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(message)) as refused:
        _ = factory(workers=workers).executor
    assert refused.value.setting == "workers"
