"""Guard plugins: check what they return and name the plugin in what they raise.

Each wrapper enforces the contract of its kind. A violation becomes a `PluginError` that names the
plugin, its package and the method; the batch is rolled back and the store does not change.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import logging
import math
import os
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from types import FrameType
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from segapsith.arrays import Compare, Labels, Matrix, NeighbourGraph, State, Views
from segapsith.errors import PluginError, PluginTimeoutError, SegapsithError
from segapsith.jit import compiling_seconds
from segapsith.model import (
    Agreement,
    Annotation,
    Document,
    Lexicon,
    Network,
    Notice,
    PreparedWords,
    Reject,
    Snapshot,
    Subject,
    Unit,
)
from segapsith.plugin.contracts import (
    ABILITIES,
    AnnotatesInSteps,
    AnnotatesTogether,
    Annotator,
    Clusterer,
    Comparison,
    Executor,
    Exporter,
    Labeller,
    Notifier,
    Segmenter,
    SegmentsTogether,
    SharedValue,
    Similarity,
    Source,
    annotates_in_steps,
    annotates_together,
    clusters_in_parts,
    has_curve,
    segments_together,
    starts_early,
    takes_neighbours,
)
from segapsith.tokens import Tokens

if TYPE_CHECKING:
    from segapsith.arrays import Rows

__all__ = [
    "GuardedAnnotator",
    "GuardedClusterer",
    "GuardedComparison",
    "GuardedExecutor",
    "GuardedExporter",
    "GuardedLabeller",
    "GuardedNotifier",
    "GuardedSegmenter",
    "GuardedSimilarity",
    "GuardedSource",
    "PluginName",
    "charged_seconds",
    "time_limit",
]

logger = logging.getLogger(__name__)

T = TypeVar("T")

_END = object()

TOLERANCE = 1e-6
"""Rounding error by which a value may exceed its declared bounds."""

SECONDS = 20.0
"""Time limit for one document, plus a second per 10,000 characters."""


class PluginName:
    """The plugin that is called, as messages name it."""

    def __init__(self, kind: str, name: str, package: str = "") -> None:
        self.kind, self.name, self.package = kind, name, package

    def __str__(self) -> str:
        origin = f" (package {self.package})" if self.package else ""
        return f"{self.kind} '{self.name}'{origin}"

    def error(self, hook: str, what: str, *, uid: str | None = None) -> PluginError:
        """Return the error for a method that broke its contract."""
        return PluginError(f"{self}: {hook} {what}", plugin=self.name, uid=uid)


@contextlib.contextmanager
def _named(who: PluginName, hook: str) -> Iterator[None]:
    try:
        yield
    except SegapsithError:
        raise
    except (Exception, SystemExit) as error:
        raise who.error(hook, f"failed: {type(error).__name__}: {error}") from error


_SHORT = 0.005
"""Tolerance of the clock in seconds."""


class _OutOfTime(BaseException):
    """The time limit is exceeded. Not an Exception, so a plugin's `except Exception` misses it."""


def charged_seconds() -> float:
    """Return a monotonic clock of the time that counts against a plugin.

    Compiling kernels does not count: it happens once, and is slow on a busy machine. Waiting for a
    processor does not count either.
    """
    return time.monotonic() - compiling_seconds() - _queued_seconds()


@contextlib.contextmanager
def time_limit(
    who: PluginName, hook: str, seconds: float, *, clock: Callable[[], float] | None = None
) -> Iterator[None]:
    """Stop a plugin that exceeds its time by `clock` (default: `charged_seconds`).

    This works in the main thread on Unix; elsewhere there is no limit.
    """
    if (
        seconds <= 0
        or not hasattr(signal, "setitimer")
        or threading.current_thread() is not threading.main_thread()
    ):
        yield
        return
    now = clock or charged_seconds
    end = now() + seconds

    def stop(_number: int, _frame: FrameType | None) -> None:
        left = end - now()
        if left <= _SHORT:
            raise _OutOfTime
        signal.setitimer(signal.ITIMER_REAL, left)

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    except _OutOfTime as error:
        raise PluginTimeoutError(
            f"{who}: {hook} took more than {seconds:g} seconds and was stopped", plugin=who.name
        ) from error
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _queued_seconds() -> float:
    """Return how long the main thread waited for a processor; 0 where this is not reported."""
    try:
        return int(os.pread(_statistics(os.getpid()), 80, 0).split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return 0.0


@functools.lru_cache(maxsize=1)
def _statistics(process: int) -> int:
    """Return an open file of the scheduler's statistics; opening it per story would be slow."""
    return os.open(f"/proc/{process}/schedstat", os.O_RDONLY | os.O_CLOEXEC)


@contextlib.contextmanager
def _limited(who: PluginName, hook: str, seconds: float) -> Iterator[None]:
    with time_limit(who, hook, seconds), _named(who, hook):
        yield


def _iterator(who: PluginName, hook: str, call: Callable[[], Iterable[T]]) -> Iterator[T]:
    with _named(who, hook):
        result = call()
        if result is None or not hasattr(result, "__iter__"):
            raise who.error(hook, f"returned {type(result).__name__}, not an iterator")
        return iter(result)


def _allowance(text_length: int) -> float:
    return SECONDS + text_length / 10_000


class _Guarded:
    """A guarded plugin. Beside its methods it has the declared abilities of the plugin only.

    With `time_limits` calls that take too long are stopped. That needs the alarm signal of the
    process, so only a program that owns the process may ask for it.
    """

    kind: ClassVar[str] = ""

    def __init__(self, plugin: Any, who: PluginName, *, time_limits: bool = False) -> None:
        self.plugin, self.who = plugin, who
        self.time_limits = time_limits

    def _calling(self, hook: str, seconds: float) -> AbstractContextManager[None]:
        """Name the plugin in errors of a hook, and stop it after `seconds` if limits are on."""
        if self.time_limits:
            return _limited(self.who, hook, seconds)
        return _named(self.who, hook)

    def __getattr__(self, name: str) -> Any:
        if name in ABILITIES.get(self.kind, ()):
            return getattr(self.plugin, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


class GuardedSource(_Guarded):
    """A source whose items are documents or rejects."""

    kind = "source"
    plugin: Source

    def sniff(self, head: bytes) -> float:
        with self._calling("sniff", SECONDS):
            value = self.plugin.sniff(head)
        if not isinstance(value, int | float) or not 0 <= value <= 1:
            raise self.who.error("sniff", f"returned {value!r}, not a number from 0 to 1")
        return float(value)

    def read(self, stream: BinaryIO, name: str) -> Iterator[Document | Reject]:
        items = _iterator(self.who, "read", lambda: self.plugin.read(stream, name))
        while True:
            with _named(self.who, "read"):
                item: object = next(items, _END)
            if item is _END:
                return
            if not isinstance(item, Document | Reject):
                raise self.who.error("read", f"gave {type(item).__name__}, not a Document")
            yield item

    def receive(
        self, url: str, position: str | None
    ) -> Iterator[tuple[Document | Reject, str] | None]:
        items = _iterator(self.who, "receive", lambda: self.plugin.receive(url, position))  # type: ignore[attr-defined]  # of a `LiveSource` only
        while True:
            with _named(self.who, "receive"):
                received: object = next(items, _END)
            if received is _END:
                return
            match received:
                case None:
                    yield None
                case (Document() | Reject() as item, str() as place):
                    yield item, place
                case _:
                    raise self.who.error("receive", "gave no pair of an item and its position")


_TOGETHER = 64
"""Annotations that are asked for under one time limit, and checked together."""


def _are_sound(annotations: Sequence[Annotation], documents: Sequence[Document]) -> bool:
    """Return whether annotations keep the contract; if not, the check of each finds the reason."""
    if len(annotations) != len(documents):
        return False
    for one in annotations:
        if not (
            isinstance(one, Annotation)
            and isinstance(one.spans, np.ndarray)
            and isinstance(one.sentences, np.ndarray)
            and isinstance(one.content, np.ndarray)
            and one.spans.shape == (len(one.lemmas), 2)
            and one.spans.dtype.kind in "iu"
            and one.content.shape == (len(one.lemmas),)
            and one.content.dtype == np.bool_
            and one.sentences.shape == (len(one.sentences), 2)
            and one.sentences.dtype.kind in "iu"
        ):
            return False
    if not {str}.issuperset(
        map(type, itertools.chain.from_iterable(one.lemmas for one in annotations))
    ):
        return False
    lengths = np.array([len(document.text) for document in documents], np.int64)
    spans, ends = _joined([one.spans for one in annotations], lengths)
    sentences, sentence_ends = _joined([one.sentences for one in annotations], lengths)
    return bool(
        (spans[:, 0] < spans[:, 1]).all()
        and (spans[:, 1] <= ends).all()
        and (
            spans[:, 0] >= ends - np.repeat(lengths, [len(one.spans) for one in annotations])
        ).all()
        and (spans[1:, 0] >= spans[:-1, 1]).all()
        and (sentences <= sentence_ends[:, None]).all()
        and (
            sentences
            >= (sentence_ends - np.repeat(lengths, [len(a.sentences) for a in annotations]))[
                :, None
            ]
        ).all()
    )


def _has_sound_columns(tokens: Tokens) -> bool:
    """Return whether columns keep the contract of annotations."""
    spans, numbers, sentences = tokens.spans, tokens.numbers, tokens.sentence_starts
    if not (
        spans.shape == (len(numbers), 2)
        and tokens.content.shape == numbers.shape
        and tokens.content.dtype == np.bool_
        and tokens.firsts[0] == 0
        and tokens.firsts[-1] == len(numbers)
        and {str}.issuperset(map(type, tokens.words))
    ):
        return False
    text_of = tokens.text_of
    starts, ends = tokens.offsets[text_of], (tokens.offsets + tokens.lengths)[text_of]
    return bool(
        (spans[:, 0] < spans[:, 1]).all()
        and (spans[:, 0] >= starts).all()
        and (spans[:, 1] <= ends).all()
        and (spans[1:, 0] >= spans[:-1, 1]).all()
        and (not len(sentences) or 0 <= sentences.min() <= sentences.max() <= len(tokens.text))
    )


def _joined(
    spans: Sequence[NDArray[Any]], lengths: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return spans of several texts as if these followed each other, and the ends of their texts."""
    sizes = [len(part) for part in spans]
    ends = np.cumsum(lengths)
    joined = np.concatenate([np.zeros((0, 2), np.int64), *spans]).astype(np.int64)
    return joined + np.repeat(ends - lengths, sizes)[:, None], np.repeat(ends, sizes)


class GuardedAnnotator(_Guarded):
    """An annotator that returns one valid annotation per document."""

    kind = "annotator"
    plugin: Annotator

    def annotate(self, documents: Iterable[Document], lexicon: Lexicon) -> Iterator[Annotation]:
        """Yield an annotation for each document; prepared words that fit are not found again."""
        waiting = list(documents)
        if all(document.prepared is None for document in waiting):
            yield from self._annotate(waiting, lexicon)
            return
        for (is_ready, _), run in itertools.groupby(
            waiting, lambda document: (self.is_ready(document), document.lang)
        ):
            part = list(run)
            yield from self._join(part, lexicon) if is_ready else self._annotate(part, lexicon)

    @functools.cached_property
    def _together(self) -> AnnotatesTogether | None:
        return self.plugin if annotates_together(self.plugin) else None

    def annotate_all(self, documents: Sequence[Document], lexicon: Lexicon) -> Tokens:
        """Return the tokens of documents in one language, with one call if the annotator can."""
        plugin = self._together
        if plugin is None or any(d.prepared and d.prepared.words for d in documents):
            return Tokens(list(self.annotate(documents, lexicon)))
        with self._calling("annotate_all", _allowance(sum(len(d.text) for d in documents))):
            tokens = plugin.annotate_all(documents, lexicon)
        with _named(self.who, "annotate_all"):
            if not isinstance(tokens, Tokens) or list(tokens.documents) != list(documents):
                raise self.who.error("annotate_all", "should give the tokens of the documents")
            if not _has_sound_columns(tokens):
                for document, annotation in zip(documents, tokens.annotations, strict=True):
                    self._check(annotation, document)
                raise self.who.error("annotate_all", "tokens and sentences should follow the texts")
        return tokens

    def is_ready(self, document: Document) -> bool:
        """Return whether the prepared words of a document are those that this annotator gives."""
        prepared, lang = document.prepared, document.lang or ""
        if prepared is None or prepared.words is None or not prepared.is_of(document):
            return False
        if prepared.lang != lang:
            self._warn(f"prepared for the language {prepared.lang!r}, but read as {lang!r}")
            return False
        version = self.words_made_by(lang)
        if prepared.words.made_by != version:
            here = version or f"{self.who}, which does not use prepared words"
            self._warn(f"prepared with {prepared.words.made_by}; the annotator here is {here}")
            return False
        return True

    def _warn(self, reason: str) -> None:
        """Warn once of each reason for which texts are read again."""
        if reason not in self._warned:
            self._warned.add(reason)
            logger.warning("prepared texts are read again: %s", reason)

    @functools.cached_property
    def _warned(self) -> set[str]:
        return set()

    @functools.cached_property
    def _in_steps(self) -> AnnotatesInSteps | None:
        return self.plugin if annotates_in_steps(self.plugin) else None

    @functools.cached_property
    def _versions(self) -> dict[str, str]:
        return {}

    def words_made_by(self, lang: str) -> str:
        """Return what decides the words of a language; empty if no words can be prepared."""
        plugin = self._in_steps
        if plugin is None:
            return ""
        if lang not in self._versions:
            with self._calling("words_version", SECONDS):
                self._versions[lang] = f"{self.who.name} ({plugin.words_version(lang)})"
        return self._versions[lang]

    def prepare_words(self, documents: Sequence[Document]) -> Iterator[PreparedWords | None]:
        """Yield the words of each document, which has a language; None if the annotator cannot."""
        plugin = self._in_steps
        if plugin is None:
            yield from (None for _ in documents)
            return
        steps = _iterator(self.who, "annotate_words", lambda: plugin.annotate_words(documents))
        joined: list[Any] = []

        def first_step() -> Iterator[Annotation]:
            for annotation, flags in steps:
                joined.append(flags)
                yield annotation

        annotations = self._checked("annotate_words", first_step(), documents)
        for document, annotation in zip(documents, annotations, strict=True):
            flags = joined.pop(0)
            if not isinstance(flags, np.ndarray) or flags.shape != (len(annotation.lemmas),):
                size = len(annotation.lemmas)
                raise self.who.error("annotate_words", f"should give {size} booleans beside words")
            yield PreparedWords(
                annotation.lemmas,
                annotation.spans,
                annotation.content,
                annotation.sentences,
                flags.astype(np.bool_),
                self.words_made_by(document.lang or ""),
            )

    def _join(self, documents: Sequence[Document], lexicon: Lexicon) -> Iterator[Annotation]:
        """Yield annotations of documents in one language whose prepared words fit."""
        plugin = self._in_steps
        assert plugin is not None
        words = [d.prepared.words for d in documents if d.prepared and d.prepared.words]
        annotations = [
            Annotation(document, one.lemmas, one.spans, one.content, one.sentences)
            for document, one in zip(documents, words, strict=True)
        ]
        joined = [one.joined for one in words]
        results = _iterator(
            self.who, "join_terms", lambda: plugin.join_terms(annotations, joined, lexicon)
        )
        yield from self._checked("join_terms", results, documents)

    def _annotate(self, documents: Sequence[Document], lexicon: Lexicon) -> Iterator[Annotation]:
        results = _iterator(self.who, "annotate", lambda: self.plugin.annotate(documents, lexicon))
        yield from self._checked("annotate", results, documents)

    def _checked(
        self, hook: str, results: Iterator[Annotation], documents: Sequence[Document]
    ) -> Iterator[Annotation]:
        """Yield the annotations of documents, held to the contract."""
        for first in range(0, len(documents), _TOGETHER):
            part = documents[first : first + _TOGETHER]
            allowance = _allowance(sum(len(document.text) for document in part))
            with self._calling(hook, allowance):
                annotations = list(itertools.islice(results, len(part)))
            with _named(self.who, hook):
                if not _are_sound(annotations, part):
                    for document, annotation in itertools.zip_longest(part, annotations):
                        self._check(annotation, document)
            yield from annotations
        with self._calling(hook, SECONDS):
            more = next(results, None)
        if more is not None:
            raise self.who.error(hook, f"gave more than {len(documents)} annotations")

    def _check(self, annotation: Annotation | None, document: Document) -> None:
        def wrong(what: str) -> PluginError:
            text = f"document {document.uid!r}: {what}"
            return self.who.error("annotate", text, uid=document.uid)

        if not isinstance(annotation, Annotation):
            raise wrong(f"gave {type(annotation).__name__}, not an Annotation")
        n_tokens, length = len(annotation.lemmas), len(document.text)
        spans = _array(annotation.spans, (n_tokens, 2))
        if spans is None:
            raise wrong(f"spans should be integers of shape ({n_tokens}, 2)")
        if n_tokens and (
            spans.min() < 0
            or spans.max() > length
            or (spans[:, 0] >= spans[:, 1]).any()
            or (spans[1:, 0] < spans[:-1, 1]).any()
        ):
            raise wrong("spans should follow each other inside the text")
        flags = np.asarray(annotation.content)
        if flags.shape != (n_tokens,) or flags.dtype != np.bool_:
            raise wrong(f"content should be {n_tokens} booleans")
        sentences = _array(annotation.sentences, (len(annotation.sentences), 2))
        if sentences is None or (
            len(sentences) and not 0 <= sentences.min() <= sentences.max() <= length
        ):
            raise wrong("sentences should be pairs of characters inside the text")
        if not {str}.issuperset(map(type, annotation.lemmas)):
            raise wrong("lemmas should be strings")


class GuardedSegmenter(_Guarded):
    """A segmenter whose units follow the text and lose no token."""

    kind = "segmenter"
    plugin: Segmenter

    @functools.cached_property
    def _together(self) -> SegmentsTogether | None:
        return self.plugin if segments_together(self.plugin) else None

    def segment(self, annotation: Annotation, network: Network) -> list[Unit]:
        limit = _allowance(len(annotation.document.text))
        units: list[Unit] = []
        most = max(1, len(annotation.lemmas))
        with self._calling("segment", limit):
            items = _iterator(self.who, "segment", lambda: self.plugin.segment(annotation, network))
            while len(units) <= most:
                unit = next(items, None)
                if unit is None:
                    break
                units.append(unit)
        with _named(self.who, "segment"):
            self._check(units, annotation.document, len(annotation.lemmas))
        return units

    def segment_all(self, tokens: Tokens, network: Network) -> list[list[Unit]]:
        """Return the units of each text, with one call if the segmenter takes several texts."""
        plugin = self._together
        if plugin is None:
            return [self.segment(annotation, network) for annotation in tokens.annotations]
        with self._calling("segment_all", _allowance(len(tokens.text))):
            result = [list(units) for units in plugin.segment_all(tokens, network)]
        if len(result) != len(tokens):
            raise self.who.error(
                "segment_all", f"gave units of {len(result)} texts instead of {len(tokens)}"
            )
        with _named(self.who, "segment_all"):
            sizes = np.diff(tokens.firsts).tolist()
            for units, document, n_tokens in zip(result, tokens.documents, sizes, strict=True):
                self._check(units, document, n_tokens)
        return result

    def curve(
        self, annotation: Annotation, network: Network
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return character positions and the segmenter's values there; empty if it has no curve."""
        if not has_curve(self.plugin):
            return np.zeros(0, np.int64), np.zeros(0)
        length = len(annotation.document.text)
        with self._calling("curve", _allowance(length)):
            places, values = self.plugin.curve(annotation, network)
            places, values = np.asarray(places, np.int64), np.asarray(values, np.float64)
            ordered = bool((np.diff(places, prepend=0, append=length) >= 0).all())
            if places.shape != values.shape or not ordered or not np.isfinite(values).all():
                raise self.who.error(
                    "curve", "should give ascending characters of the text and a number for each"
                )
            return places, values

    def _check(self, units: list[Unit], document: Document, n_tokens: int) -> None:
        def wrong(what: str) -> PluginError:
            uid = document.uid
            return self.who.error("segment", f"document {uid!r}: {what}", uid=uid)

        if len(units) > max(1, n_tokens):
            raise wrong(f"gave more units than the text has tokens ({max(1, n_tokens)})")
        token, character, length = 0, 0, len(document.text)
        for unit in units:
            if not isinstance(unit, Unit):
                raise wrong(f"gave {type(unit).__name__}, not a Unit")
            if unit.first != token or unit.last < unit.first:
                raise wrong(f"units should follow each other; one begins at token {unit.first}")
            if not character <= unit.start <= unit.end <= length:
                raise wrong(f"unit {unit.start}-{unit.end} does not follow the text")
            if not math.isfinite(unit.cohesion):
                raise wrong(f"cohesion is {unit.cohesion}")
            if unit.inferred and not all(0 <= w < math.inf for w in unit.inferred.values()):
                raise wrong("weights of inferred words should be finite and not negative")
            token, character = unit.last, unit.end
        if token != n_tokens:
            raise wrong(f"units cover {token} of {n_tokens} tokens")


class GuardedSimilarity(_Guarded):
    """A similarity whose results have the right shape and bounds and are symmetric."""

    kind = "similarity"
    plugin: Similarity

    @property
    def bounds(self) -> tuple[float, float]:
        return self.plugin.bounds

    def learn(self, rows: Rows | Views) -> None:
        with _named(self.who, "learn"):
            self.plugin.learn(rows)

    def compare(self, left: Rows | Views, right: Rows | Views) -> Matrix:
        given = {id(rows): rows for rows in (*_matrices(left), *_matrices(right))}
        marks = [_Mark(rows) for rows in given.values() if hasattr(rows, "indptr")]
        with _named(self.who, "compare"):
            values = self.plugin.compare(left, right)
            if any(mark.changed() for mark in marks):
                raise self.who.error("compare", "changed its input; it should copy what it changes")
            return self._sound(values, left, right)

    def _sound(self, values: object, left: Rows | Views, right: Rows | Views) -> Matrix:
        expected = (_n_rows(left), _n_rows(right))
        if not isinstance(values, np.ndarray):
            raise self.who.error("compare", f"returned {type(values).__name__}, not an array")
        if values.shape != expected:
            raise self.who.error("compare", f"returned shape {values.shape}, not {expected}")
        if not np.issubdtype(values.dtype, np.floating):
            raise self.who.error("compare", f"returned {values.dtype}, not floating point")
        if values.size:
            lowest, highest = float(values.min()), float(values.max())
            if not (math.isfinite(lowest) and math.isfinite(highest)):
                raise self.who.error("compare", "returned a value that is not finite")
            low, high = self.plugin.bounds
            if lowest < low - TOLERANCE or highest > high + TOLERANCE:
                raise self.who.error(
                    "compare",
                    f"returned {lowest:g}…{highest:g}, outside its bounds {low:g}…{high:g}",
                )
            if left is right and np.abs(values - values.T).max() > TOLERANCE:
                raise self.who.error("compare", "is not symmetric")
        return np.asarray(values, dtype=np.float64)

    def compare_both_ways(self, left: Rows, right: Rows) -> Matrix:
        """Compare in both directions, within a time limit, and check that the results agree."""
        with self._calling("compare", SECONDS):
            values = self.compare(left, right)
            turned = self.compare(right, left)
        if values.size and np.abs(values - turned.T).max() > TOLERANCE:
            raise self.who.error("compare", "is not symmetric: compare(a, b) differs from b, a")
        return values

    def state(self) -> State:
        with _named(self.who, "state"):
            state = self.plugin.state()
            plain = {str(name): np.asarray(array) for name, array in state.items()}
        if any(array.dtype == object for array in plain.values()):
            raise self.who.error("state", "holds objects; only arrays of numbers can be stored")
        return plain

    def restore(self, state: State) -> None:
        with _named(self.who, "restore"):
            self.plugin.restore(state)


class GuardedClusterer(_Guarded):
    """A clusterer that returns one label per row, without gaps, -1 only for empty rows."""

    kind = "clusterer"
    plugin: Clusterer

    def cluster(self, rows: Rows | Views, compare: Compare | None) -> Labels:
        with _named(self.who, "cluster"):
            labels = self.plugin.cluster(rows, compare)
        return self.checked(labels, rows)

    @property
    def cluster_neighbours(self) -> Callable[[Rows, NeighbourGraph], Labels]:
        """The plugin's own, checked; an AttributeError if it has none."""
        plugin = self.plugin
        if not takes_neighbours(plugin):
            raise AttributeError(f"{self.who} does not take neighbours")

        def cluster(rows: Rows, graph: NeighbourGraph) -> Labels:
            with _named(self.who, "cluster_neighbours"):
                labels = plugin.cluster_neighbours(rows, graph)
            return self.checked(labels, rows)

        return cluster

    @property
    def rounds(self) -> Callable[[Any], Generator[Sequence[Any], Sequence[Any], Labels]]:
        """The plugin's own, whose errors name it; an AttributeError if it has none."""
        plugin = self.plugin
        if not clusters_in_parts(plugin):
            raise AttributeError(f"{self.who} does not cluster in parts")

        def rounds(prepared: Any) -> Generator[Sequence[Any], Sequence[Any], Labels]:
            with _named(self.who, "rounds"):
                return (yield from plugin.rounds(prepared))

        return rounds

    def prepare(self, rows: Rows | Views, compare: Compare | None) -> Any:
        with _named(self.who, "prepare"):
            return self.plugin.prepare(rows, compare)  # type: ignore[attr-defined]  # beside `rounds`

    def part(self, prepared: Any, part: Any) -> Any:
        with _named(self.who, "part"):
            return self.plugin.part(prepared, part)  # type: ignore[attr-defined]  # beside `rounds`

    def checked(self, labels: Labels, rows: Rows | Views) -> Labels:
        """Return labels of the plugin; raise an error that names it if they break the contract."""
        n_rows = _n_rows(rows)
        numbers = _array(labels, (n_rows,))
        if numbers is None:
            raise self.who.error("cluster", f"should return {n_rows} integers")
        if len(numbers):
            used = np.unique(numbers[numbers >= 0])
            if numbers.min() < -1 or not np.array_equal(used, np.arange(len(used))):
                raise self.who.error("cluster", "labels should be 0, 1, … without gaps")
            sizes = [np.asarray(abs(view).sum(axis=1)).ravel() for view in _matrices(rows)]
            empty = np.sum(sizes, axis=0) == 0
            if ((numbers == -1) & ~empty).any():
                raise self.who.error("cluster", "left out a row that is not empty")
        return numbers.astype(np.int64)


class GuardedComparison(_Guarded):
    """A comparison that returns a finite number."""

    kind = "comparison"
    plugin: Comparison

    def measure(self, left: Snapshot, right: Snapshot) -> Agreement:
        with _named(self.who, "measure"):
            agreement = self.plugin.measure(left, right)
            if not isinstance(agreement, Agreement) or not math.isfinite(agreement.value):
                raise self.who.error("measure", f"returned {agreement!r}, not a finite Agreement")
        return agreement


class GuardedExporter(_Guarded):
    """An exporter whose failures name it."""

    kind = "exporter"
    plugin: Exporter

    def export(self, snapshot: Snapshot, out: BinaryIO) -> None:
        try:
            with _named(self.who, "export"):
                self.plugin.export(snapshot, out)
        except PluginError as error:
            if isinstance(error.__cause__, OSError):
                raise error.__cause__ from error  # the disk is full, or the reader has gone
            raise


class GuardedLabeller(_Guarded):
    """A labeller that returns one line of text."""

    kind = "labeller"
    plugin: Labeller

    def label(self, subject: Subject) -> str:
        with self._calling("label", SECONDS):
            label = self.plugin.label(subject)
            if not isinstance(label, str):
                raise self.who.error("label", f"returned {type(label).__name__}, not a text")
        if label and not label.isprintable():
            raise self.who.error("label", f"returned {label!r}; one line of text is expected")
        return label


SENDING_SECONDS = 300.0
"""Time limit for one delivery; notifiers have shorter limits of their own."""


class GuardedNotifier(_Guarded):
    """A notifier whose failures name it."""

    kind = "notifier"
    plugin: Notifier

    def send(self, notices: Sequence[Notice]) -> None:
        with self._calling("send", SENDING_SECONDS):
            self.plugin.send(notices)


class GuardedExecutor(_Guarded):
    """An executor that returns one result per item, and whose failures name it."""

    kind = "executor"
    plugin: Executor

    @property
    def n_workers(self) -> int:
        with _named(self.who, "n_workers"):
            number = self.plugin.n_workers
        if not isinstance(number, int) or number < 1:
            raise self.who.error("n_workers", f"is {number!r}, not a number of at least 1")
        return number

    def start(self, task: str) -> None:
        if starts_early(self.plugin):
            with _named(self.who, "start"):
                self.plugin.start(task)

    def map(
        self, task: str, items: Iterable[object], shared: Mapping[str, SharedValue] | None = None
    ) -> Iterator[Any]:
        counted = _Counted(items)
        n_results = 0
        try:
            for result in self.plugin.map(task, counted, shared):
                n_results += 1
                yield result
        except (SegapsithError, MemoryError, OSError):
            raise  # of a task, or of what reads the items
        except Exception as error:
            what = f"failed: {type(error).__name__}: {error}"
            raise self.who.error("map", what) from error
        if n_results != counted.n_items:
            raise self.who.error("map", f"gave {n_results} results for {counted.n_items} items")

    def close(self) -> None:
        with _named(self.who, "close"):
            self.plugin.close()


class _Counted(Iterator[object]):
    """Items that are counted as they are taken."""

    def __init__(self, items: Iterable[object]) -> None:
        self._items = iter(items)
        self.n_items = 0

    def __next__(self) -> object:
        item = next(self._items)
        self.n_items += 1
        return item


def _matrices(rows: Rows | Views) -> list[Rows]:
    """Return the matrices of rows that may be given in several views."""
    return list(rows.values()) if isinstance(rows, Mapping) else [rows]


def _n_rows(rows: Rows | Views) -> int:
    matrices = _matrices(rows)
    return int(matrices[0].shape[0]) if matrices else 0


_LANES = 64
"""Sums of a checksum: entry i of an array counts in sum i mod 64."""


def _checksum(array: NDArray[Any]) -> bytes:
    """Return sums over the bits of an array; about a quarter of the cost of copying it."""
    octets = np.ascontiguousarray(array).view(np.uint8)
    whole = len(octets) // (8 * _LANES) * 8 * _LANES
    lanes = octets[:whole].view(np.uint64).reshape(-1, _LANES).sum(axis=0)
    return bytes(lanes.tobytes() + octets[whole:].tobytes())


class _Mark:
    """Rows as they were before a call, to see afterwards whether they have other values.

    Rows in canonical form are remembered by checksums. Others are copied, because sorting their
    indices or summing duplicates, which scipy does by itself, is not a change.
    """

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._copy = None if rows.has_canonical_format else rows.copy()
        self._sums = self._checksums() if self._copy is None else ()

    def _checksums(self) -> tuple[object, ...]:
        rows = self._rows
        return (rows.shape, *map(_checksum, (rows.data, rows.indices, rows.indptr)))

    def changed(self) -> bool:
        """Return whether the rows have other values than before."""
        rows, before = self._rows, self._copy
        if before is None:
            return self._checksums() != self._sums
        return rows.shape != before.shape or bool((rows != before).nnz)


def _array(values: object, shape: tuple[int, ...]) -> NDArray[np.integer[Any]] | None:
    """Return the values as integers of that shape, or None."""
    try:
        array = np.asarray(values)
    except (TypeError, ValueError):
        return None
    if array.shape != shape or not (np.issubdtype(array.dtype, np.integer) or array.size == 0):
        return None
    return array.astype(np.int64) if array.size == 0 else array
