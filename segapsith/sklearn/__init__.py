"""The algorithms as scikit-learn estimators: for pipelines, cloning and grid searches.

It needs the extra `sklearn`. Parameters have the names of scikit-learn where it has one:
`n_clusters` is `k` of the plugin and `random_state` is its `seed`. Other names are the same.
"""

from __future__ import annotations

try:
    import sklearn as _sklearn
except ImportError as error:
    raise ImportError(
        "segapsith.sklearn needs scikit-learn, which is not installed;"
        " run: pip install segapsith[sklearn]"
    ) from error

from segapsith.sklearn.clusterers import AHC, ITCC, EntropyKMeans, KMedoids, SphericalKMeans
from segapsith.sklearn.segmenter import CohesionSegmenter
from segapsith.sklearn.similarities import GVSM, ChiSim, MVSim
from segapsith.sklearn.stream import DomainStream

del _sklearn

__all__ = [
    "AHC",
    "GVSM",
    "ITCC",
    "ChiSim",
    "CohesionSegmenter",
    "DomainStream",
    "EntropyKMeans",
    "KMedoids",
    "MVSim",
    "SphericalKMeans",
]
