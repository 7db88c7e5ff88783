"""Scores of models: against the plugins themselves, ties, best dimensions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.cluster.hierarchy import cut_tree, linkage
from scipy.spatial.distance import squareform

from segapsith_reproduce import Options
from segapsith_reproduce.cells import Results, plugins, scores_of
from segapsith_reproduce.gvsm import scores as gvsm
from segapsith_reproduce.gvsm.sets import document_set, tf_idf_rows
from segapsith_reproduce.gvsm.weighted_kmeans import cluster_weighted

pytestmark = pytest.mark.slow


def scorer(data: Path, **more: object) -> gvsm.Scorer:
    options = Options(quick=True, **more)  # type: ignore[arg-type]
    return gvsm.Scorer(data, options, Results(None, options.tell))


@pytest.mark.parametrize("model", gvsm.LATENT)
def test_fewer_dimensions_are_the_first_of_all(model: str, data: Path) -> None:
    rows = tf_idf_rows(document_set(data / "k1b"))
    measure = plugins().make("similarity", gvsm.LATENT[model], {"rank": 4})
    measure.learn(rows)
    found = gvsm._similar(document_set(data / "k1b"), model, 4, 0)
    np.testing.assert_allclose(found, measure.compare(rows, rows), atol=1e-9)


@pytest.mark.parametrize("algorithm", gvsm.LINKAGES)
def test_linkages_are_those_of_scipy(algorithm: str, data: Path) -> None:
    classes = document_set(data / "tr31").classes
    similar = gvsm._similar(document_set(data / "tr31"), "COV", None, 0)
    distances = 1 - similar
    np.fill_diagonal(distances, 0)
    tree = linkage(squareform(distances, checks=False), gvsm.LINKAGES[algorithm])
    expected = scores_of(cut_tree(tree, 2).ravel(), classes)
    found = scorer(data).measured("tr31", "COV", algorithm)
    assert found == pytest.approx({m: expected[ours] for m, ours in gvsm.MEASURES.items()})


def test_an_empty_document_is_in_no_cluster(data: Path) -> None:
    similar = gvsm._similar(document_set(data / "k1b"), "VSM", None, 0)
    assert not similar[4].any()
    found = gvsm._by_linkages(similar, document_set(data / "k1b").classes)
    assert 0 < found["complete purity"] <= 1


def test_ties_are_reported_where_they_decide(data: Path, tmp_path: Path) -> None:
    from scipy.sparse import csr_array, save_npz

    pairs = np.kron(np.eye(6, dtype=int), np.ones((2, 2), dtype=int))  # six pairs share no word
    (tmp_path / "re0").mkdir()
    save_npz(tmp_path / "re0" / "matrix.npz", csr_array(pairs))
    (tmp_path / "re0" / "labels.txt").write_text("a\na\n" * 4 + "b\nb\nc\nc\n")
    ties = scorer(tmp_path).ties("re0", "HAC complete")
    low, high = ties["F-measure"]
    assert low < high
    assert scorer(tmp_path).ties("re0", "HAC average") == {}
    assert scorer(data).ties("tr31", "HAC complete") == {}


def test_the_ten_best_of_all_dimensions_count() -> None:
    values = np.random.default_rng(0).random((1, 96))
    larger = gvsm.mean_of_best(values, larger_is_better=True)
    assert larger == pytest.approx(np.mean(np.sort(values)[0, -10:]))
    smaller = gvsm.mean_of_best(values, larger_is_better=False)
    assert smaller == pytest.approx(np.mean(np.sort(values)[0, :10]))
    few = gvsm.mean_of_best(np.array([[0.1, 0.9, 0.5]]), larger_is_better=True)
    assert few == 0.9  # a tenth of few dimensions is one
    fifty = np.random.default_rng(1).random((50, 96))
    best = gvsm.mean_of_best(fifty, larger_is_better=True)
    assert best == pytest.approx(np.mean(np.sort(fifty.mean(axis=0))[-10:]))


def test_few_runs_are_corrected_to_fifty() -> None:
    rng = np.random.default_rng(0)
    means = rng.normal(0.6, 0.02, 96)
    runs = means + rng.normal(0, 0.05, (400, 50, 96))  # 400 times fifty noisy runs

    def average(n_runs: int) -> float:
        return float(
            np.mean([gvsm.mean_of_best(some[:n_runs], larger_is_better=True) for some in runs])
        )

    naive = np.mean([np.sort(some[:3].mean(axis=0))[-10:].mean() for some in runs])
    assert abs(average(3) - average(50)) < 0.4 * abs(naive - average(50))
    assert abs(average(10) - average(50)) < 0.006


def test_repetitions_are_averaged(data: Path) -> None:
    both = [scorer(data, seed=s, repetitions=1).measured("k1b", "COV", "spherical k-means")
            for s in (0, 1)]  # fmt: skip
    mean = scorer(data, repetitions=2).measured("k1b", "COV", "spherical k-means")
    for measure, value in mean.items():
        assert value == pytest.approx((both[0][measure] + both[1][measure]) / 2)


def test_sampled_rows_differ_by_draw(data: Path) -> None:
    one = scorer(data, repetitions=1, seed=0).measured("k1b", "COV-10%", "HAC average")
    other = scorer(data, repetitions=1, seed=5).measured("k1b", "COV-10%", "HAC average")
    assert one != other


@pytest.mark.parametrize("model", gvsm.LATENT)
def test_documents_keep_their_length_in_latent_models(model: str, data: Path) -> None:
    documents = document_set(data / "tr31")
    measure = plugins().make("similarity", gvsm.LATENT[model], {"rank": 5})
    measure.learn(tf_idf_rows(documents))
    factors = measure.factors(tf_idf_rows(documents))
    assert np.ptp(np.linalg.norm(factors, axis=1)) > 0.01
    expected = scores_of(cluster_weighted(factors, 2, seed=3), documents.classes)
    cell = gvsm.ScoreCell("tr31", model, 5, gvsm.RUN, 3)
    assert cell.scores({"tr31": documents}) == pytest.approx(expected)
    assert cell.name == f"gvsm tr31 {model} 5 weighted spherical 3"


def test_explicit_models_have_more_runs_with_quick(data: Path) -> None:
    assert [scorer(data).n_runs(model) for model in ("VSM", "COV", "LSI")] == [10, 10, 6]
    assert scorer(data, repetitions=3).n_runs("VSM") == 3
    full = gvsm.Scorer(data, Options(), Results(None, print))
    assert full.n_runs("VSM") == full.n_runs("PCA-COV") == gvsm.N_RUNS
