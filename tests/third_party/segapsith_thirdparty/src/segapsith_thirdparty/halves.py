"""Halves: every text is two units, whatever it is about."""

from collections.abc import Iterator, Mapping

from segapsith import Annotation, Network, Unit, hookimpl


class Halves:
    def segment(self, annotation: Annotation, network: Network) -> Iterator[Unit]:
        n_tokens = len(annotation.lemmas)
        middle = n_tokens // 2
        for first, last in ((0, middle), (middle, n_tokens)):
            if first < last:
                start, end = annotation.spans[first, 0], annotation.spans[last - 1, 1]
                yield Unit(int(start), int(end), first, last)


@hookimpl
def register_segmenters() -> Mapping[str, type[Halves]]:
    return {"halves": Halves}
