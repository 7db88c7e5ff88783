"""Multi-view spherical k-means."""

import numpy as np
import pytest
from scipy.sparse import csr_array

import segapsith
from segapsith.evaluation import metrics
from segapsith.testing import clusterer_checks, example_rows
from segapsith_plugins.clusterers.mvkm import MvKm, _consensus


def two_views(seed=0, own=0.45):
    """Rows of three classes, seen twice, each time with much noise of its own."""
    rng = np.random.default_rng(seed)
    classes = np.repeat(np.arange(3), 30)
    home = np.arange(30) // 10 == classes[:, None]
    views = {name: rng.poisson(0.35 + own * home) for name in ("first", "second")}
    return {name: csr_array(view.astype(float)) for name, view in views.items()}, classes


def test_two_views_tell_more_than_one():
    views, classes = two_views()
    labels = segapsith.clusterer("mvkm", k=3).cluster(views, None)  # through the seam
    both = metrics.nmi(labels, classes)
    alone = [metrics.nmi(MvKm(k=3).cluster(view, None), classes) for view in views.values()]
    assert both > max(alone) + 0.05


def test_the_consensus_is_the_sum_of_cosines():
    views, classes = two_views(1, own=2.0)
    other = classes.copy()
    other[[0, 20]] = [1, 2]
    units = []
    for view in views.values():
        dense = view.toarray()
        lengths = np.linalg.norm(dense, axis=1, keepdims=True)
        units.append(np.divide(dense, lengths, out=np.zeros_like(dense), where=lengths > 0))
    labels, objective = _consensus([csr_array(u) for u in units], [classes, other], 3)
    agreed = classes == other
    total = np.zeros((len(classes), 3))
    for view in units:
        for group in range(3):
            centre = view[agreed & (classes == group)].sum(axis=0)
            total[:, group] += view @ centre / np.linalg.norm(centre)
    np.testing.assert_array_equal(labels, total.argmax(axis=1))
    assert objective == pytest.approx(total.max(axis=1).sum())


def test_the_best_sum_never_falls_and_the_best_start_is_kept():
    views, _ = two_views(2, own=2.0)
    clusterer = MvKm(k=4, n_init=6, patience=5)
    clusterer.cluster(views, None)
    assert (np.diff(clusterer.trace_) >= 0).all()
    assert len(clusterer.objectives_) == 6
    assert clusterer.objective_ == max(clusterer.objectives_)


@pytest.mark.parametrize(("views", "blocks"), [(1, "clusters"), (2, "random"), (3, "random")])
def test_two_clean_blocks_are_found_where_each_view_has_both(views, blocks):
    rng = np.random.default_rng(0)
    rows = rng.poisson(3.0, (40, 60)) * (np.arange(40)[:, None] // 20 == np.arange(60) // 30)
    clusterer = MvKm(k=2, views=views, blocks=blocks)
    labels = clusterer.cluster(csr_array(rows.astype(float)), None)
    assert metrics.nmi(labels, np.arange(40) // 20) == pytest.approx(1.0)


def test_a_row_that_is_empty_in_one_view_is_placed_by_the_other():
    views, classes = two_views()
    first = views["first"].tolil()
    first[[3, 7]] = 0
    second = views["second"].tolil()
    second[7] = 0
    labels = MvKm(k=3).cluster({"first": csr_array(first), "second": csr_array(second)}, None)
    assert labels[7] == -1
    assert labels[3] >= 0
    assert (np.delete(labels, 7) >= 0).all()
    assert len(classes) == len(labels)


def test_views_that_do_not_fit_are_refused():
    rows = example_rows(4)
    with pytest.raises(ValueError, match="same rows"):
        MvKm().cluster({"a": rows, "b": rows[:2]}, None)
    with pytest.raises(ValueError, match="no view"):
        MvKm().cluster({}, None)
    with pytest.raises(ValueError, match="divides one matrix"):
        MvKm(views=2).cluster({"a": rows}, None)


@pytest.mark.parametrize("wrong", [{"k": 0}, {"patience": 0}, {"blocks": "x"}, {"views": 0}])
def test_wrong_settings_are_named(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        MvKm(**wrong)


@pytest.mark.slow
@pytest.mark.parametrize("views", [1, 2])
@pytest.mark.parametrize("check", clusterer_checks, ids=lambda check: check.__name__)
def test_it_keeps_the_contract(check, views):
    def make_plugin(k=8, seed=0, **more):
        return MvKm(k=k, seed=seed, views=views, **more)

    check(make_plugin)
