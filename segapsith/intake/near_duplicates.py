"""The stories of late, among which a text may find the one that it repeats."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from segapsith.errors import StorageError
from segapsith.intake.fingerprints import (
    COPY,
    FIGURES,
    KEYS,
    SKETCH,
    Hashes,
    Rules,
    Signature,
    Verdict,
    rule_numbers,
    shares,
    sizes_of,
    verdict_of,
)
from segapsith.jit import kernel

__all__ = ["WINDOW", "Match", "Window"]

POPULAR = 64
"""A run that more stories than this share is a phrase of the house and leads to none of them."""

WINDOW = 100_000
"""Documents, by ordinal, among which an earlier story is looked for."""

_NEVER, _EMPTY = -2, -1
_FEW = 1024
_MANY = 4096


@kernel
def _place(key: np.uint32, table: Hashes, heads: NDArray[np.int32]) -> int:
    """Where a key lies in the table, or where it would be put."""
    mask = len(table) - 1
    place = int(np.uint64(key) * np.uint64(0x9E3779B1) >> np.uint64(16)) & mask
    while heads[place] != -2 and table[place] != key:
        place = (place + 1) & mask
    return place


@kernel
def _link(
    slot: int,
    n_keys: int,
    runs: NDArray[np.uint32],
    table: Hashes,
    heads: NDArray[np.int32],
    counts: NDArray[np.int32],
    links: NDArray[np.int32],
) -> int:
    """Enters the keys of a slot; gives how many were new to the table."""
    new = 0
    width = links.shape[1] // 2
    for j in range(n_keys):
        place = _place(runs[slot, j], table, heads)
        if heads[place] == -2:
            new += 1
            table[place] = runs[slot, j]
            heads[place] = -1
        entry = slot * width + j
        head = heads[place]
        links[slot, 2 * j], links[slot, 2 * j + 1] = -1, head
        if head >= 0:
            links[head // width, 2 * (head % width)] = entry
        heads[place] = entry
        counts[place] += 1
    return new


@kernel
def _link_all(
    slots: NDArray[np.int64],
    sizes: NDArray[np.int64],
    runs: NDArray[np.uint32],
    table: Hashes,
    heads: NDArray[np.int32],
    counts: NDArray[np.int32],
    links: NDArray[np.int32],
) -> int:
    """Enters the keys of many slots; gives how many were new to the table."""
    new = 0
    most = links.shape[1] // 2
    for slot in slots:
        n_keys = min(most, sizes[slot, 0])
        new += _link(slot, n_keys, runs, table, heads, counts, links)
    return new


@kernel
def _unpack(
    values: Hashes,
    starts: NDArray[np.int64],
    slots: NDArray[np.int64],
    runs: NDArray[np.uint32],
    figures: NDArray[np.uint32],
    places: NDArray[np.uint32],
    sizes: NDArray[np.int64],
) -> None:
    """Writes signatures that lie behind each other, as bytes keep them, into their slots."""
    for i in range(len(slots)):
        at, end, slot = starts[i], starts[i + 1], slots[i]
        n_runs, n_figures = np.int64(values[at + 3]), np.int64(values[at + 4])
        n_places = end - at - 5 - n_runs - n_figures
        sizes[slot, 0], sizes[slot, 2], sizes[slot, 4] = n_runs, n_figures, n_places
        for j in range(3):
            sizes[slot, 2 * j + 1] = values[at + j]
        at += 5
        runs[slot, :n_runs] = values[at : at + n_runs]
        at += n_runs
        figures[slot, :n_figures] = values[at : at + n_figures]
        places[slot, :n_places] = values[at + n_figures : end]


@kernel
def _unlink(
    slot: int,
    n_keys: int,
    runs: NDArray[np.uint32],
    table: Hashes,
    heads: NDArray[np.int32],
    counts: NDArray[np.int32],
    links: NDArray[np.int32],
) -> None:
    width = links.shape[1] // 2
    for j in range(n_keys):
        place = _place(runs[slot, j], table, heads)
        before, after = links[slot, 2 * j], links[slot, 2 * j + 1]
        if before >= 0:
            links[before // width, 2 * (before % width) + 1] = after
        else:
            heads[place] = after
        if after >= 0:
            links[after // width, 2 * (after % width)] = before
        counts[place] -= 1


@kernel
def _best(
    runs: Hashes,
    figures: Hashes,
    places: Hashes,
    sizes: NDArray[np.int64],
    rules: NDArray[np.float64],
    popular: int,
    all_runs: NDArray[np.uint32],
    all_figures: NDArray[np.uint32],
    all_places: NDArray[np.uint32],
    all_sizes: NDArray[np.int64],
    ordinals: NDArray[np.int64],
    table: Hashes,
    heads: NDArray[np.int32],
    counts: NDArray[np.int32],
    links: NDArray[np.int32],
    seen: NDArray[np.int64],
    stamp: int,
) -> tuple[int, float, float]:
    """The slot of the story that a text repeats most, the earliest of equals; -1 for none."""
    width = links.shape[1] // 2
    found, best_new, best_old = -1, 0.0, 0.0
    for j in range(min(width, len(runs))):
        place = _place(runs[j], table, heads)
        if heads[place] == -2 or counts[place] > popular:
            continue
        entry = heads[place]
        while entry >= 0:
            slot = entry // width
            entry = links[slot, 2 * (entry % width) + 1]
            if seen[slot] == stamp:
                continue
            seen[slot] = stamp
            a, b = shares(
                runs,
                figures,
                places,
                sizes,
                all_runs[slot],
                all_figures[slot],
                all_places[slot],
                all_sizes[slot],
                rules,
            )
            if a == 0.0:
                continue
            better = a > best_new or (a == best_new and b > best_old)
            equal = a == best_new and b == best_old
            if found < 0 or better or (equal and ordinals[slot] < ordinals[found]):
                found, best_new, best_old = slot, a, b
    return found, best_new, best_old


@dataclass(frozen=True, slots=True)
class Match:
    """The earlier story that a text repeats, and how."""

    document: int
    verdict: Verdict


def _behind_each_other(blobs: Sequence[bytes]) -> tuple[Hashes, NDArray[np.int64]]:
    """Signatures as one array, and where each begins; one that does not fit into a slot is refused."""
    lengths = np.array([len(blob) for blob in blobs], np.int64)
    starts = np.append(0, np.cumsum(lengths // 4))
    if (lengths % 4 != 0).any() or (lengths < 20).any():
        raise StorageError("a signature of a text is damaged; see `segapsith verify`")
    values = np.frombuffer(bytearray().join(blobs), "<u4").astype(np.uint32)
    n_runs, n_figures = (values[starts[:-1] + at].astype(np.int64) for at in (3, 4))
    n_places = lengths // 4 - 5 - n_runs - n_figures
    if ((n_runs > SKETCH) | (n_figures > FIGURES) | (n_places > FIGURES) | (n_places < 0)).any():
        raise StorageError("a signature of a text is damaged; see `segapsith verify`")
    return values, starts


class Window:
    """The stories of the last `size` ordinals, found by their keys.

    What is found depends on which stories are in the window and not on the order in which they
    came there. Memory grows with the stories up to about 2 KB for each of `size`.
    """

    def __init__(self, size: int = WINDOW) -> None:
        if size < 1:
            raise ValueError(f"size={size} should be >= 1")
        self.size = size
        self._newest = 0
        self._slots: dict[int, int] = {}
        self._by_age: list[tuple[int, int]] = []
        self._free: list[int] = []
        self._stamp = 0
        self._make(min(_FEW, size))
        self._index(_FEW * KEYS)

    def __len__(self) -> int:
        return len(self._slots)

    def __contains__(self, document: int) -> bool:
        return document in self._slots

    def __iter__(self) -> Iterator[tuple[int, int, Signature]]:
        """(ordinal, document, signature) of every story, by ordinal."""
        rows = [(int(self._ordinals[slot]), document) for document, slot in self._slots.items()]
        for ordinal, document in sorted(rows):
            slot = self._slots[document]
            n_runs, all_runs, n_figures, all_figures, n_places, all_places = self._sizes[
                slot
            ].tolist()
            yield (
                ordinal,
                document,
                Signature(
                    self._runs[slot, :n_runs].copy(),
                    self._figures[slot, :n_figures].copy(),
                    self._places[slot, :n_places].copy(),
                    all_runs,
                    all_figures,
                    all_places,
                ),
            )

    @property
    def nbytes(self) -> int:
        """Memory of its arrays."""
        return sum(v.nbytes for v in vars(self).values() if isinstance(v, np.ndarray))

    def add(self, document: int, ordinal: int, signature: Signature) -> None:
        """Takes a story in, in place of its earlier text if it has one; the oldest may leave."""
        self.remove(document)
        self._newest = max(self._newest, ordinal)
        self._evict()
        if ordinal <= self._newest - self.size:
            return
        if not self._free:
            self._grow()
        slot = self._free.pop()
        sizes = sizes_of(signature)
        self._runs[slot, : sizes[0]] = signature.runs
        self._figures[slot, : sizes[2]] = signature.figures
        self._places[slot, : sizes[4]] = signature.places
        self._sizes[slot] = sizes
        self._ordinals[slot] = ordinal
        self._documents[slot] = document
        self._seen[slot] = 0
        self._slots[document] = slot
        heapq.heappush(self._by_age, (ordinal, document))
        self._enter(slot)
        if self._used * 4 > len(self._table) * 3:
            self._index(2 * KEYS * max(len(self._slots), _FEW))

    def fill(self, stories: Iterable[tuple[int, int, bytes]]) -> None:
        """Takes in stories that are not there yet, signatures as bytes: as `add` would, in less time."""
        waiting = iter(stories)
        while some := list(islice(waiting, _MANY)):
            self._newest = max(self._newest, *(ordinal for _, ordinal, _ in some))
            self._evict()
            oldest = self._newest - self.size
            self._fill([story for story in some if story[1] > oldest])
        heapq.heapify(self._by_age)

    def _fill(self, some: list[tuple[int, int, bytes]]) -> None:
        values, starts = _behind_each_other([blob for _, _, blob in some])
        while len(self._free) < len(some):
            self._grow()
        slots = np.array([self._free.pop() for _ in some], np.int64)
        _unpack(values, starts, slots, self._runs, self._figures, self._places, self._sizes)
        self._documents[slots] = [document for document, _, _ in some]
        self._ordinals[slots] = [ordinal for _, ordinal, _ in some]
        self._seen[slots] = 0
        self._slots.update(zip((document for document, _, _ in some), slots.tolist(), strict=True))
        self._by_age += ((ordinal, document) for document, ordinal, _ in some)
        if (self._used + KEYS * len(some)) * 4 > len(self._table) * 3:
            self._index(2 * KEYS * max(len(self._slots), _FEW))
        else:
            self._enter_all(slots)

    def remove(self, document: int) -> None:
        """Lets a story go, if it is there."""
        slot = self._slots.pop(document, None)
        if slot is None:
            return
        n_keys = min(KEYS, int(self._sizes[slot, 0]))
        _unlink(slot, n_keys, self._runs, self._table, self._heads, self._counts, self._links)
        self._free.append(slot)

    def find(self, signature: Signature, rules: Rules = COPY) -> Match | None:
        """The story that a text repeats most, the earliest of equals."""
        self._stamp += 1
        slot, new_in_old, old_in_new = _best(
            signature.runs,
            signature.figures,
            signature.places,
            sizes_of(signature),
            rule_numbers(rules),
            POPULAR,
            self._runs,
            self._figures,
            self._places,
            self._sizes,
            self._ordinals,
            self._table,
            self._heads,
            self._counts,
            self._links,
            self._seen,
            self._stamp,
        )
        verdict = verdict_of(new_in_old, old_in_new, rules)
        if verdict is None:
            return None
        return Match(int(self._documents[slot]), verdict)

    def _make(self, room: int) -> None:
        self._runs = np.zeros((room, SKETCH), np.uint32)
        self._figures = np.zeros((room, FIGURES), np.uint32)
        self._places = np.zeros((room, FIGURES), np.uint32)
        self._sizes = np.zeros((room, 6), np.int64)
        self._ordinals = np.zeros(room, np.int64)
        self._documents = np.zeros(room, np.int64)
        self._seen = np.zeros(room, np.int64)
        self._links = np.zeros((room, 2 * KEYS), np.int32)
        self._free = list(range(room - 1, -1, -1))

    def _grow(self) -> None:
        """Twice the room, but no more than the window can hold."""
        before = len(self._ordinals)
        room = min(2 * before, self.size)
        for name in (
            *("_runs", "_figures", "_places", "_sizes", "_ordinals", "_documents", "_seen"),
            "_links",
        ):
            old = getattr(self, name)
            new = np.zeros((room, *old.shape[1:]), old.dtype)
            new[:before] = old
            setattr(self, name, new)
        self._free = [*range(room - 1, before - 1, -1), *self._free]

    def _index(self, room: int) -> None:
        """Makes the table of keys anew, for stories with this many keys at most."""
        size = 1 << max(room, 2).bit_length()
        self._table = np.zeros(size, np.uint32)
        self._heads = np.full(size, _NEVER, np.int32)
        self._counts = np.zeros(size, np.int32)
        self._used = 0
        self._enter_all(np.fromiter(self._slots.values(), np.int64, len(self._slots)))

    def _enter_all(self, slots: NDArray[np.int64]) -> None:
        if len(slots) == 0:  # a kernel that has nothing to do need not be loaded
            return
        self._used += _link_all(
            slots, self._sizes, self._runs, self._table, self._heads, self._counts, self._links
        )

    def _enter(self, slot: int) -> None:
        n_keys = min(KEYS, int(self._sizes[slot, 0]))
        self._used += _link(
            slot, n_keys, self._runs, self._table, self._heads, self._counts, self._links
        )

    def _evict(self) -> None:
        """Lets those go whose ordinal lies too far back."""
        oldest = self._newest - self.size
        while self._by_age and self._by_age[0][0] <= oldest:
            ordinal, document = heapq.heappop(self._by_age)
            slot = self._slots.get(document)
            if slot is not None and self._ordinals[slot] == ordinal:
                self.remove(document)
        if len(self._by_age) > 2 * len(self._slots) + _FEW:  # corrected again and again
            present = [(int(self._ordinals[s]), d) for d, s in self._slots.items()]
            self._by_age = sorted(present)
