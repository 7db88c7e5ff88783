"""Why a unit is in its domain."""

from __future__ import annotations

import pytest

from segapsith.api.wire import Wire
from segapsith.errors import MissingInputError


def test_the_score_is_the_mean_of_the_four_ratios(sampled: Wire) -> None:
    domain = sampled.domains(limit=1)[0]
    for unit in sampled.domains.show(domain.id).unit_ids:
        explanation = sampled.explain(unit)
        product = 1.0
        for ratio in explanation.ratios.values():
            product *= ratio
        assert explanation.score == pytest.approx(product**0.25, abs=1e-5)
        assert explanation.domain.id == domain.id
        assert all(word.inferred is not None for word in explanation.words)
        if explanation.runner_up is not None:
            assert all("inferred" not in word for word in explanation.runner_up.words)
        assert not {w.word for w in explanation.words} & {w.word for w in explanation.only_in_unit}


def test_a_unit_that_does_not_exist_is_an_error(sampled: Wire) -> None:
    with pytest.raises(MissingInputError, match="there is no unit 4711"):
        sampled.explain(4711)
