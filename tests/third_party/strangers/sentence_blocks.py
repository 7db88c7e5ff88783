"""Sentence blocks: a unit is a few sentences."""

from itertools import pairwise

import numpy as np

from segapsith import Unit, hookimpl


class SentenceBlocks:
    def __init__(self, *, size=3):
        if size < 1:
            raise ValueError(f"size={size} should be >= 1")
        self.size = size

    def segment(self, annotation, network):
        begins = np.searchsorted(annotation.spans[:, 0], annotation.sentences[:, 0])
        cuts = sorted({0, *begins[:: self.size].tolist(), len(annotation.lemmas)})
        for first, last in pairwise(cuts):
            start, end = annotation.spans[first, 0], annotation.spans[last - 1, 1]
            yield Unit(int(start), int(end), first, last)


@hookimpl
def register_segmenters():
    return {"sentence-blocks": SentenceBlocks}
