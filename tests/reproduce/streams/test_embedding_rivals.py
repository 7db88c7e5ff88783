"""Rivals that read texts with a neural network, with the packages replaced by small ones."""

from __future__ import annotations

import importlib
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from segapsith_reproduce.streams import embedding_rivals
from segapsith_reproduce.streams.embedding_rivals import (
    bertopic_labels,
    embed,
    has_bertopic,
    has_embeddings,
    nearest_centroid_pass,
)


class _Model:
    """Returns the share of two words as a vector of length 1."""

    def encode(self, texts: list[str], *, normalize_embeddings: bool, **_: Any) -> Any:
        assert normalize_embeddings and all(len(t) <= embedding_rivals.MAX_CHARS for t in texts)
        rows = np.array([[t.count("boat") + 0.1, t.count("star")] for t in texts], np.float32)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


class _Topics:
    def __init__(self, **settings: Any) -> None:
        assert settings["umap_model"].settings["random_state"] == 7

    def fit_transform(self, texts: list[str], embeddings: Any) -> tuple[list[int], None]:
        assert len(texts) == len(embeddings)
        return [0, -1, 0, -1][: len(texts)], None


@pytest.fixture
def packages(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = {
        embedding_rivals.MODEL_PACKAGE: SimpleNamespace(load_model=lambda _: _Model()),
        "bertopic": SimpleNamespace(BERTopic=_Topics),
        "umap": SimpleNamespace(UMAP=lambda **settings: SimpleNamespace(settings=settings)),
    }
    whole = importlib.import_module
    monkeypatch.setattr(
        embedding_rivals.importlib, "import_module", lambda name: parts.get(name) or whole(name)
    )


def test_texts_become_vectors_of_length_one(packages: None) -> None:
    vectors = embed(["boat " * 1000, "star", "boat star"])
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1)


def test_outliers_of_bertopic_are_groups_of_their_own(packages: None) -> None:
    texts = ["boat", "star", "boat", "else"]
    assert bertopic_labels(texts, embed(texts), seed=7).tolist() == [0, 1, 0, 2]


@pytest.mark.parametrize("threshold", [0.3, 0.6, 0.9])
def test_a_pass_equals_the_slow_form(threshold: float) -> None:
    rng = np.random.default_rng(3)
    vectors = np.abs(rng.normal(size=(60, 5))).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    clusters: list[list[int]] = []
    for place, vector in enumerate(vectors):
        cosines = []
        for members in clusters:
            centre = vectors[members].sum(axis=0)
            cosines.append(float(centre @ vector / np.linalg.norm(centre)))
        if cosines and max(cosines) >= threshold:
            clusters[int(np.argmax(cosines))].append(place)
        else:
            clusters.append([place])
    labels = nearest_centroid_pass(vectors, threshold)
    assert [np.flatnonzero(labels == c).tolist() for c in range(labels.max() + 1)] == clusters


def test_without_the_packages_the_rivals_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding_rivals, "find_spec", lambda _: None)
    assert not has_embeddings() and not has_bertopic()
