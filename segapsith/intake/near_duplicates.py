"""Recent stories, among which the near-duplicate of a new text is searched."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from segapsith.errors import StorageError
from segapsith.intake.fingerprints import (
    COPY,
    MAX_FIGURES,
    MAX_RUNS,
    N_KEYS,
    Hashes,
    Rules,
    Signature,
    Sketch,
    Verdict,
    shares,
    sketch_of,
    verdict_of,
)
from segapsith.jit import kernel

__all__ = ["WINDOW", "Match", "Window"]

MAX_STORIES_PER_KEY = 64
"""A run that more stories share is boilerplate and is not used to find candidates."""

WINDOW = 100_000
"""How many recent documents, by ordinal, are searched."""

_UNUSED, _NO_ENTRY = -2, -1
"""Heads of a place in the key table: never used, and used without an entry."""

_MIN_SLOTS = 1024
_FILL_SIZE = 4096
"""Stories that `Window.fill` adds at a time."""

_HEADER_NUMBERS = 5
"""Numbers before the hashes in the bytes of a signature."""


class _Stories(NamedTuple):
    """Arrays with one row per slot; a slot holds one story."""

    runs: NDArray[np.uint32]
    figures: NDArray[np.uint32]
    places: NDArray[np.uint32]
    sizes: NDArray[np.int64]
    """As `Sketch.sizes`."""
    ordinals: NDArray[np.int64]
    documents: NDArray[np.int64]
    seen: NDArray[np.int64]
    """The search in which the slot was compared last."""
    links: NDArray[np.int32]
    """For each key, the previous and the next entry with the same key. An entry is
    slot * N_KEYS + number of the key."""

    @classmethod
    def empty(cls, n_slots: int) -> _Stories:
        return cls(
            np.zeros((n_slots, MAX_RUNS), np.uint32),
            np.zeros((n_slots, MAX_FIGURES), np.uint32),
            np.zeros((n_slots, MAX_FIGURES), np.uint32),
            np.zeros((n_slots, 6), np.int64),
            np.zeros(n_slots, np.int64),
            np.zeros(n_slots, np.int64),
            np.zeros(n_slots, np.int64),
            np.zeros((n_slots, 2 * N_KEYS), np.int32),
        )

    def enlarged(self, n_slots: int) -> _Stories:
        """Return a copy with more slots."""
        larger = _Stories.empty(n_slots)
        for name in self._fields:
            old = getattr(self, name)
            getattr(larger, name)[: len(old)] = old
        return larger


class _KeyTable(NamedTuple):
    """A hash table with open addressing, from a key to its list of entries."""

    keys: Hashes
    heads: NDArray[np.int32]
    """The first entry of each key, `_UNUSED` or `_NO_ENTRY`."""
    counts: NDArray[np.int32]
    """Entries of each key."""

    @classmethod
    def empty(cls, size: int) -> _KeyTable:
        return cls(
            np.zeros(size, np.uint32), np.full(size, _UNUSED, np.int32), np.zeros(size, np.int32)
        )


# A call from Python hands over plain tuples (`stories[:]`), which the kernels name again: numba
# needs 1 µs to unpack a plain tuple of 8 arrays and 3 µs for a named one.
Arrays: TypeAlias = tuple[NDArray[Any], ...]


@kernel
def _position(key: np.uint32, keys: Hashes, heads: NDArray[np.int32]) -> int:
    """Return where a key is in the table, or where it would be inserted."""
    mask = len(keys) - 1
    position = int(np.uint64(key) * np.uint64(0x9E3779B1) >> np.uint64(16)) & mask
    while heads[position] != _UNUSED and keys[position] != key:
        position = (position + 1) & mask
    return position


@kernel
def _link(slot: int, story_arrays: Arrays, table_arrays: Arrays) -> int:
    """Insert the keys of a slot; return how many were new to the table."""
    stories, table = _Stories(*story_arrays), _KeyTable(*table_arrays)
    links = stories.links
    n_new = 0
    for j in range(min(N_KEYS, stories.sizes[slot, 0])):
        key = stories.runs[slot, j]
        position = _position(key, table.keys, table.heads)
        if table.heads[position] == _UNUSED:
            n_new += 1
            table.keys[position] = key
            table.heads[position] = _NO_ENTRY
        entry = slot * N_KEYS + j
        head = table.heads[position]
        links[slot, 2 * j], links[slot, 2 * j + 1] = _NO_ENTRY, head
        if head >= 0:
            links[head // N_KEYS, 2 * (head % N_KEYS)] = entry
        table.heads[position] = entry
        table.counts[position] += 1
    return n_new


@kernel
def _link_all(slots: NDArray[np.int64], story_arrays: Arrays, table_arrays: Arrays) -> int:
    """Insert the keys of many slots; return how many were new to the table."""
    n_new = 0
    for slot in slots:
        n_new += _link(slot, story_arrays, table_arrays)
    return n_new


@kernel
def _unlink(slot: int, story_arrays: Arrays, table_arrays: Arrays) -> None:
    """Remove the keys of a slot."""
    stories, table = _Stories(*story_arrays), _KeyTable(*table_arrays)
    links = stories.links
    for j in range(min(N_KEYS, stories.sizes[slot, 0])):
        position = _position(stories.runs[slot, j], table.keys, table.heads)
        before, after = links[slot, 2 * j], links[slot, 2 * j + 1]
        if before >= 0:
            links[before // N_KEYS, 2 * (before % N_KEYS) + 1] = after
        else:
            table.heads[position] = after
        if after >= 0:
            links[after // N_KEYS, 2 * (after % N_KEYS)] = before
        table.counts[position] -= 1


@kernel
def _unpack(
    values: Hashes, starts: NDArray[np.int64], slots: NDArray[np.int64], stories: _Stories
) -> None:
    """Copy concatenated signatures, in the form of their bytes, into their slots."""
    for i in range(len(slots)):
        at, end, slot = starts[i], starts[i + 1], slots[i]
        sizes = stories.sizes[slot]
        n_runs, n_figures = np.int64(values[at + 3]), np.int64(values[at + 4])
        n_places = end - at - _HEADER_NUMBERS - n_runs - n_figures
        sizes[0], sizes[2], sizes[4] = n_runs, n_figures, n_places
        for j in range(3):
            sizes[2 * j + 1] = values[at + j]
        at += _HEADER_NUMBERS
        stories.runs[slot, :n_runs] = values[at : at + n_runs]
        at += n_runs
        stories.figures[slot, :n_figures] = values[at : at + n_figures]
        stories.places[slot, :n_places] = values[at + n_figures : end]


@kernel
def _best(
    sketch: Arrays,
    rule: tuple[float, float, float, int, float],
    story_arrays: Arrays,
    table_arrays: Arrays,
    search: int,
) -> tuple[int, float, float]:
    """Return the slot of the story that a text repeats most, and the two shares; slot -1 for none.

    Of equal stories the earliest counts. `search` numbers the searches, so that a story with several
    shared keys is compared once.
    """
    text, rules = Sketch(*sketch), Rules(*rule)
    stories, table = _Stories(*story_arrays), _KeyTable(*table_arrays)
    best, best_new, best_old = -1, 0.0, 0.0
    for j in range(min(N_KEYS, len(text.runs))):
        position = _position(text.runs[j], table.keys, table.heads)
        if table.heads[position] == _UNUSED or table.counts[position] > MAX_STORIES_PER_KEY:
            continue
        entry = table.heads[position]
        while entry >= 0:
            slot = entry // N_KEYS
            entry = stories.links[slot, 2 * (entry % N_KEYS) + 1]
            if stories.seen[slot] == search:
                continue
            stories.seen[slot] = search
            old = Sketch(
                stories.runs[slot], stories.figures[slot], stories.places[slot], stories.sizes[slot]
            )
            new_in_old, old_in_new = shares(text, old, rules)
            if new_in_old == 0.0:
                continue
            is_better = new_in_old > best_new or (new_in_old == best_new and old_in_new > best_old)
            is_equal = new_in_old == best_new and old_in_new == best_old
            is_earlier = is_equal and stories.ordinals[slot] < stories.ordinals[best]
            if best < 0 or is_better or is_earlier:
                best, best_new, best_old = slot, new_in_old, old_in_new
    return best, best_new, best_old


@dataclass(frozen=True, slots=True)
class Match:
    """The earlier story that a text repeats, and how."""

    document: int
    verdict: Verdict


def _concatenated(blobs: Sequence[bytes]) -> tuple[Hashes, NDArray[np.int64]]:
    """Return signatures as one array and where each begins; raise if one does not fit a slot."""
    lengths = np.array([len(blob) for blob in blobs], np.int64)
    starts = np.append(0, np.cumsum(lengths // 4))
    if (lengths % 4 != 0).any() or (lengths < 4 * _HEADER_NUMBERS).any():
        raise _damaged()
    values = np.frombuffer(bytearray().join(blobs), "<u4").astype(np.uint32)
    n_runs, n_figures = (values[starts[:-1] + at].astype(np.int64) for at in (3, 4))
    n_places = lengths // 4 - _HEADER_NUMBERS - n_runs - n_figures
    is_too_long = (n_runs > MAX_RUNS) | (n_figures > MAX_FIGURES) | (n_places > MAX_FIGURES)
    if (is_too_long | (n_places < 0)).any():
        raise _damaged()
    return values, starts


def _damaged() -> StorageError:
    return StorageError("a stored text signature is damaged; run `segapsith verify`")


class Window:
    """The stories of the last `size` ordinals, indexed by their keys.

    The result of a search depends on which stories are in the window, not on the order in which
    they were added. Memory grows with the stories, up to about 2 KB for each of `size`.
    """

    def __init__(self, size: int = WINDOW) -> None:
        if size < 1:
            raise ValueError(f"size={size} should be >= 1")
        self.size = size
        self._newest = 0
        self._slots: dict[int, int] = {}
        self._by_age: list[tuple[int, int]] = []
        n_slots = min(_MIN_SLOTS, size)
        self._stories = _Stories.empty(n_slots)
        self._free = list(range(n_slots - 1, -1, -1))
        self._n_searches = 0
        self._rebuild_table(_MIN_SLOTS * N_KEYS)

    def __len__(self) -> int:
        return len(self._slots)

    def __contains__(self, document: int) -> bool:
        return document in self._slots

    def __iter__(self) -> Iterator[tuple[int, int, Signature]]:
        """(ordinal, document, signature) of every story, by ordinal."""
        stories = self._stories
        rows = [(int(stories.ordinals[slot]), doc) for doc, slot in self._slots.items()]
        for ordinal, document in sorted(rows):
            slot = self._slots[document]
            n_runs, all_runs, n_figures, all_figures, n_places, all_places = stories.sizes[
                slot
            ].tolist()
            signature = Signature(
                stories.runs[slot, :n_runs].copy(),
                stories.figures[slot, :n_figures].copy(),
                stories.places[slot, :n_places].copy(),
                all_runs,
                all_figures,
                all_places,
            )
            yield ordinal, document, signature

    @property
    def nbytes(self) -> int:
        """Memory of the arrays."""
        return sum(array.nbytes for array in (*self._stories, *self._table))

    def add(self, document: int, ordinal: int, signature: Signature) -> None:
        """Add a story, in place of its earlier text if it has one; drop stories that are too old."""
        self.remove(document)
        self._newest = max(self._newest, ordinal)
        self._evict()
        if ordinal <= self._newest - self.size:
            return
        if not self._free:
            self._grow()
        slot = self._free.pop()
        stories, sketch = self._stories, sketch_of(signature)
        stories.runs[slot, : len(sketch.runs)] = sketch.runs
        stories.figures[slot, : len(sketch.figures)] = sketch.figures
        stories.places[slot, : len(sketch.places)] = sketch.places
        stories.sizes[slot] = sketch.sizes
        stories.ordinals[slot] = ordinal
        stories.documents[slot] = document
        stories.seen[slot] = 0
        self._slots[document] = slot
        heapq.heappush(self._by_age, (ordinal, document))
        self._n_keys += _link(slot, stories[:], self._table[:])
        if self._n_keys * 4 > len(self._table.keys) * 3:
            self._rebuild_table(2 * N_KEYS * max(len(self._slots), _MIN_SLOTS))

    def fill(self, stories: Iterable[tuple[int, int, bytes]]) -> None:
        """Add stories (document, ordinal, bytes of the signature) that are not in the window yet.

        The result is that of `add` for each of them, in less time.
        """
        waiting = iter(stories)
        while chunk := list(islice(waiting, _FILL_SIZE)):
            self._newest = max(self._newest, *(ordinal for _, ordinal, _ in chunk))
            self._evict()
            oldest = self._newest - self.size
            self._fill([story for story in chunk if story[1] > oldest])
        heapq.heapify(self._by_age)

    def _fill(self, chunk: list[tuple[int, int, bytes]]) -> None:
        values, starts = _concatenated([blob for _, _, blob in chunk])
        while len(self._free) < len(chunk):
            self._grow()
        slots = np.array([self._free.pop() for _ in chunk], np.int64)
        stories = self._stories
        _unpack(values, starts, slots, stories)
        documents = [document for document, _, _ in chunk]
        stories.documents[slots] = documents
        stories.ordinals[slots] = [ordinal for _, ordinal, _ in chunk]
        stories.seen[slots] = 0
        self._slots.update(zip(documents, slots.tolist(), strict=True))
        self._by_age += ((ordinal, document) for document, ordinal, _ in chunk)
        if (self._n_keys + N_KEYS * len(chunk)) * 4 > len(self._table.keys) * 3:
            self._rebuild_table(2 * N_KEYS * max(len(self._slots), _MIN_SLOTS))
        else:
            self._link_all(slots)

    def remove(self, document: int) -> None:
        """Remove a story, if it is in the window."""
        slot = self._slots.pop(document, None)
        if slot is None:
            return
        _unlink(slot, self._stories[:], self._table[:])
        self._free.append(slot)

    def find(self, signature: Signature, rules: Rules = COPY) -> Match | None:
        """Return the story that a text repeats most, the earliest of equals, or None."""
        if not self._slots:  # the kernel need not be loaded
            return None
        self._n_searches += 1
        slot, new_in_old, old_in_new = _best(
            sketch_of(signature)[:], rules[:], self._stories[:], self._table[:], self._n_searches
        )
        verdict = verdict_of(new_in_old, old_in_new, rules)
        if verdict is None:
            return None
        return Match(int(self._stories.documents[slot]), verdict)

    def _grow(self) -> None:
        """Double the slots, up to the size of the window."""
        before = len(self._stories.ordinals)
        n_slots = min(2 * before, self.size)
        self._stories = self._stories.enlarged(n_slots)
        self._free = [*range(n_slots - 1, before - 1, -1), *self._free]

    def _rebuild_table(self, max_keys: int) -> None:
        """Build the key table again, for stories with at most this many keys."""
        self._table = _KeyTable.empty(1 << max(max_keys, 2).bit_length())
        self._n_keys = 0
        self._link_all(np.fromiter(self._slots.values(), np.int64, len(self._slots)))

    def _link_all(self, slots: NDArray[np.int64]) -> None:
        if len(slots):  # else the kernel need not be loaded
            self._n_keys += _link_all(slots, self._stories[:], self._table[:])

    def _evict(self) -> None:
        """Remove the stories whose ordinal is too old."""
        oldest = self._newest - self.size
        ordinals = self._stories.ordinals
        while self._by_age and self._by_age[0][0] <= oldest:
            ordinal, document = heapq.heappop(self._by_age)
            slot = self._slots.get(document)
            if slot is not None and ordinals[slot] == ordinal:
                self.remove(document)
        if len(self._by_age) > 2 * len(self._slots) + _MIN_SLOTS:  # repeated corrections
            self._by_age = sorted((int(ordinals[slot]), doc) for doc, slot in self._slots.items())
