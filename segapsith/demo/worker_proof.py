"""The proof of a worker: a hash of what it makes of the bundled sample.

Other versions of a library or another processor may give other lemmas, units or last digits. Then
results would depend on which worker made them, so such a worker is refused.
"""

from __future__ import annotations

import hashlib
import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata

import numpy as np
from scipy.sparse import csr_array

from segapsith.arrays import Rows
from segapsith.demo import sample
from segapsith.engine.reading import Readings, read
from segapsith.lexicon.vocabulary import tf_idf
from segapsith.model import Document, Lexicon, Network
from segapsith.parallel.packing import pack
from segapsith.parallel.tasks import Shared
from segapsith.plugin.registry import Registry, load_plugins
from segapsith.settings import ANNOTATOR, CLUSTERER, SEGMENTER, TOPIC_SIMILARITY

__all__ = ["Proof", "prove", "read_sample"]

PACKAGE = "segapsith"

N_STORIES = 8
"""Stories of each language that are read."""


@dataclass(frozen=True, slots=True)
class Proof:
    """Hashes of what was made of the sample, by the kind of work, and the versions in use."""

    hashes: Mapping[str, str]
    versions: Mapping[str, str]


def prove(item: object, shared: Shared) -> Proof:
    """Return the proof of this process: the task `prove`."""
    registry = load_plugins(only_own=True)
    readings = [read_sample(registry, lang) for lang in ("en", "fr")]
    rows = _rows(readings)
    clusterer = registry.make("clusterer", CLUSTERER, {"k": 4})
    measure = registry.make("similarity", TOPIC_SIMILARITY)
    weighted = tf_idf(rows)
    measure.learn(weighted)
    made = {
        "reading": readings,
        "clusters": clusterer.cluster(rows, None),
        "similarities": [weighted, measure.compare(weighted, weighted)],
    }
    return Proof(
        {kind: hashlib.sha256(pack(value)).hexdigest()[:16] for kind, value in made.items()},
        {"python": platform.python_version(), "processor": platform.machine(), **_versions()},
    )


def _versions() -> dict[str, str]:
    """Return the version of this package and of those that it requires."""
    required = [re.split(r"[^\w.-]", one, maxsplit=1) for one in metadata.requires(PACKAGE) or ()]
    names = [PACKAGE, *(name for name, *rest in required if not rest or "extra" not in rest[0])]
    return {name: metadata.version(name) for name in names}


def read_sample(registry: Registry, lang: str) -> Readings:
    """Read the first stories of the bundled sample with the default plugins."""
    stories = sample.lines(lang)[:N_STORIES]
    documents = [Document(s["id"], s["title"], s["text"], lang=lang) for s in stories]
    (readings,) = read(
        documents,
        annotator=registry.make("annotator", ANNOTATOR),
        segmenter=registry.make("segmenter", SEGMENTER),
        lexicon=Lexicon(0, {}),
        networks={lang: Network()},
    )
    return readings


def _rows(readings: Sequence[Readings]) -> Rows:
    """Return the counts of words in each text."""
    columns: dict[str, int] = {}
    data: dict[tuple[int, int], int] = {}
    row = 0
    for language in readings:
        start = 0
        for end in language.ends:
            for place in language.words[start:end].tolist():
                column = columns.setdefault(language.vocabulary[place], len(columns))
                data[row, column] = data.get((row, column), 0) + 1
            start, row = end, row + 1
    places = np.array(list(data), dtype=np.int64).T
    counts = np.array(list(data.values()), dtype=np.float64)
    return csr_array((counts, (places[0], places[1])), shape=(row, len(columns)))
