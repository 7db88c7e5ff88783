"""The proof of a worker is the same twice, and depends on what it hashes."""

from __future__ import annotations

import pytest

from segapsith.demo import worker_proof
from segapsith.demo.worker_proof import prove, read_sample
from segapsith.parallel.packing import pack
from segapsith.parallel.tasks import Shared
from segapsith.plugin.registry import load_plugins


def test_the_sample_is_read_the_same_way_twice() -> None:
    registry = load_plugins(only_own=True)
    first, second = (read_sample(registry, "fr") for _ in range(2))
    assert len(first) == worker_proof.N_STORIES and pack(first) == pack(second)


@pytest.mark.slow
def test_another_reading_is_another_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    proof = prove(None, Shared({}))
    assert prove(None, Shared({})) == proof
    assert {"python", "numpy", "segapsith"} <= proof.versions.keys()
    monkeypatch.setattr(worker_proof, "N_STORIES", 7)
    other = prove(None, Shared({}))
    assert all(other.hashes[kind] != proof.hashes[kind] for kind in proof.hashes)
