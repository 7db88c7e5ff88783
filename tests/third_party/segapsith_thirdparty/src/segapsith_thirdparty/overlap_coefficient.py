"""The overlap coefficient, |a ∩ b| / min(|a|, |b|), a little sharpened."""

from collections.abc import Mapping

import numpy as np

from segapsith import Matrix, Rows, State, hookimpl


class OverlapCoefficient:
    bounds = (0.0, 1.0)

    def __init__(self, *, power: float = 1.0) -> None:
        if power <= 0:
            raise ValueError(f"power={power} should be > 0")
        self.power = power

    def learn(self, rows: Rows) -> None:
        pass

    def compare(self, left: Rows, right: Rows) -> Matrix:
        a, b = ((rows > 0).astype(float) for rows in (left, right))
        least = np.minimum(a.sum(axis=1)[:, None], b.sum(axis=1)[None, :])
        share: Matrix = (a @ b.T).toarray() / np.maximum(least, 1)
        return share**self.power

    def state(self) -> State:
        return {}

    def restore(self, state: State) -> None:
        pass


@hookimpl
def register_similarities() -> Mapping[str, type[OverlapCoefficient]]:
    return {"overlap-coefficient": OverlapCoefficient}
