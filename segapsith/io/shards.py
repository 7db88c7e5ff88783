"""Shards: prepared stories of an archive in one file, as JSON and plain arrays.

A shard begins with a line that has the hash of everything after it. A line of JSON describes what
the shard was made from and lists its blocks, which follow without gaps. The layout is documented in
docs/reference/formats.md.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain, count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segapsith.errors import InputError
from segapsith.intake.fingerprints import MAX_FIGURES, MAX_RUNS
from segapsith.model import Document, PreparedText, PreparedWords, Reject

__all__ = ["MAGIC", "SUFFIX", "ShardHeader", "read_header", "read_shard", "write_shard"]

MAGIC = b"SEGAPSITH SHARD "
VERSION = 1
"""Number of the layout."""

SUFFIX = ".shard"

Array = NDArray[Any]

_HASH_CHARS = 64


@dataclass(frozen=True, slots=True)
class ShardHeader:
    """What a shard was made from."""

    recipe: str
    """Hash of what decides all shards of a preparation: settings, versions, names of inputs."""
    made_from: str
    """Hash of the recipe, and of the inputs of this shard."""
    part: int
    """Number of the shard among those of the same inputs, from 0."""
    is_last: bool
    texts_by: str
    """What decides hashes and fingerprints besides the text."""
    n_stories: int = 0
    n_rejects: int = 0
    failures: Sequence[tuple[str, str]] = ()
    """Inputs that could not be read to the end: class of the error, and message."""


def write_shard(header: ShardHeader, items: Sequence[Document | Reject]) -> bytes:
    """Return a shard of items; documents without `prepared` are stored as they are."""
    texts = [
        item.prepared for item in items if isinstance(item, Document) and item.prepared is not None
    ]
    words = [text.words for text in texts if text.words is not None]
    blocks = {
        "items": _json_block([_plain(item) for item in items]),
        **_signature_blocks(texts),
        **_word_blocks(words),
    }
    n_rejects = sum(isinstance(item, Reject) for item in items)
    counted = replace(header, n_stories=len(items) - n_rejects, n_rejects=n_rejects)
    layout = [[name, block.dtype.str, len(block)] for name, block in blocks.items()]
    head = {**asdict(counted), "blocks": layout}
    body = b"".join([_json(head), b"\n", *(block.tobytes() for block in blocks.values())])
    digest = hashlib.sha256(body).hexdigest()
    return MAGIC + f"{VERSION} {digest}\n".encode("ascii") + body


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8")


def _json_block(value: object) -> Array:
    return np.frombuffer(_json(value), np.uint8)


def _plain(item: Document | Reject) -> dict[str, Any]:
    if isinstance(item, Reject):
        return {"reject": item.name, "reason": item.reason}
    fields: dict[str, Any] = {
        "id": item.uid,
        "title": item.title,
        "text": item.body,
        "date": item.date,
        "lang": item.lang,
        "source": item.source,
        "metadata": item.metadata,
        "words": item.bag,
    }
    plain = {name: value for name, value in fields.items() if value not in (None, "", {})}
    if item.bag is not None:
        plain["words"] = dict(item.bag)
    if item.prepared is not None:
        text = item.prepared
        plain |= {"hash": text.digest, "language": text.lang, "language_by": text.lang_by}
        if text.words is not None:
            plain["words_by"] = text.words.made_by
    return plain


def _signature_blocks(texts: Sequence[PreparedText]) -> dict[str, Array]:
    return {
        "signatures": np.frombuffer(b"".join(text.signature for text in texts), "<u4"),
        "signature_sizes": _small([len(text.signature) // 4 for text in texts]),
    }


def _word_blocks(words: Sequence[PreparedWords]) -> dict[str, Array]:
    places: dict[str, int] = {}
    numbers = count()
    lemmas = [
        place
        if (place := places.get(lemma)) is not None
        else places.setdefault(lemma, next(numbers))
        for lemma in chain.from_iterable(one.lemmas for one in words)
    ]
    spans = _joined([one.spans for one in words])
    sizes = [len(one.lemmas) for one in words]
    before = np.append(0, spans[:-1, 1])[: len(spans)]  # the end of the token before
    before[_starts(sizes)] = 0
    flags = np.concatenate([*(one.content for one in words), np.zeros(0, np.bool_)]).astype(
        np.uint8
    )
    flags |= np.concatenate([*(one.joined for one in words), np.zeros(0, np.bool_)]) << np.uint8(1)
    return {
        "vocabulary": _json_block(list(places)),
        "token_counts": _small(sizes),
        "lemmas": _small(lemmas),
        "gaps": _small(spans[:, 0] - before),
        "lengths": _small(spans[:, 1] - spans[:, 0]),
        "flags": flags,
        "sentence_counts": _small([len(one.sentences) for one in words]),
        "sentences": _small(_joined([one.sentences for one in words]).ravel()),
    }


def _joined(spans: Sequence[Array]) -> NDArray[np.int64]:
    return np.concatenate([*spans, np.zeros((0, 2), np.int64)]).astype(np.int64)


def _starts(sizes: Sequence[int]) -> NDArray[np.int64]:
    """Return where each text that has tokens begins."""
    starts = np.cumsum([0, *sizes[:-1]]) if sizes else np.zeros(0, np.int64)
    return starts[np.array(sizes, np.int64) > 0]


def _small(values: Sequence[int] | Array) -> Array:
    """Return values as the smallest unsigned integers that can hold them, little endian."""
    array = np.asarray(values, np.int64)
    kind = np.min_scalar_type(int(array.max(initial=0)))
    return array.astype(kind.newbyteorder("<"))


# --- reading ---------------------------------------------------------------------------------


def read_header(start: bytes, name: str) -> ShardHeader:
    """Return the header of a shard from its first bytes; raise `InputError` if there is none."""
    first, _, rest = start.partition(b"\n")
    _checked_version(first, name)
    try:
        return _header(json.loads(rest.partition(b"\n")[0]))
    except (ValueError, KeyError, TypeError) as error:
        raise _damaged(name, f"no header: {error}") from error


def read_shard(data: bytes, name: str, texts_by: str) -> Iterator[Document | Reject]:
    """Yield the items of a shard; raise `InputError` before the first if it is not whole.

    `texts_by` is what decides hashes and fingerprints here. If the shard was made with others, its
    documents come without prepared texts.
    """
    first, _, body = data.partition(b"\n")
    digest = _checked_version(first, name)
    if hashlib.sha256(body).hexdigest() != digest:
        raise _damaged(name, "its content does not have the hash that it states")
    try:
        head = json.loads(body[: body.index(b"\n")])
        blocks = _blocks(body, head["blocks"])
        items = json.loads(blocks["items"].tobytes())
        is_current = _header(head).texts_by == texts_by
        texts = _texts(items, blocks) if is_current else {}
        yield from [_item(item, texts.get(place)) for place, item in enumerate(items)]
    except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        raise _damaged(name, f"{type(error).__name__}: {error}") from error


def _damaged(name: str, what: str) -> InputError:
    return InputError(f"{name}: the shard is damaged ({what}); prepare its archive again")


def _checked_version(first: bytes, name: str) -> str:
    """Return the hash that the first line states."""
    version, _, digest = first.removeprefix(MAGIC).partition(b" ")
    if not first.startswith(MAGIC) or not version.isdigit() or len(digest) != _HASH_CHARS:
        raise _damaged(name, "no first line")
    if int(version) != VERSION:
        raise InputError(
            f"{name}: the shard has layout {int(version)}, this program reads layout {VERSION};"
            " prepare its archive again with this version"
        )
    return digest.decode("ascii", "replace")


def _header(head: Mapping[str, Any]) -> ShardHeader:
    return ShardHeader(
        recipe=str(head["recipe"]),
        made_from=str(head["made_from"]),
        part=int(head["part"]),
        is_last=bool(head["is_last"]),
        texts_by=str(head["texts_by"]),
        n_stories=int(head["n_stories"]),
        n_rejects=int(head["n_rejects"]),
        failures=tuple((str(kind), str(text)) for kind, text in head["failures"]),
    )


def _blocks(body: bytes, layout: Sequence[Sequence[Any]]) -> dict[str, Array]:
    start = body.index(b"\n") + 1
    blocks: dict[str, Array] = {}
    for name, kind, size in layout:
        dtype = np.dtype(kind)
        if dtype.kind != "u" or size < 0:
            raise ValueError(f"block {name!r} is not of unsigned numbers")
        blocks[name] = np.frombuffer(body, dtype, size, start)
        start += size * dtype.itemsize
    if start != len(body):
        raise ValueError("its blocks do not fill it")
    return blocks


def _texts(
    items: Sequence[Mapping[str, Any]], blocks: Mapping[str, Array]
) -> dict[int, PreparedText]:
    """Return the prepared texts by the place of their item."""
    made_by = [item["words_by"] for item in items if "words_by" in item]
    signatures, words = list(_signatures(blocks)), iter(list(_words(made_by, blocks)))
    places = [place for place, item in enumerate(items) if "hash" in item]
    texts: dict[int, PreparedText] = {}
    for place, signature in zip(places, signatures, strict=True):
        item = items[place]
        texts[place] = PreparedText(
            item.get("title", ""),
            item.get("text", ""),
            item["hash"],
            signature,
            item["language"],
            item["language_by"],
            next(words) if "words_by" in item else None,
        )
    return texts


def _signatures(blocks: Mapping[str, Array]) -> Iterator[bytes]:
    values, sizes = blocks["signatures"], blocks["signature_sizes"].astype(np.int64)
    ends = np.cumsum(sizes)
    starts = ends - sizes
    if (sizes < 5).any() or (len(ends) and ends[-1] != len(values)):
        raise ValueError("fingerprints are incomplete")
    n_runs, n_figures = (values[starts + at].astype(np.int64) for at in (3, 4))
    n_places = sizes - 5 - n_runs - n_figures
    too_long = (n_runs > MAX_RUNS) | (n_figures > MAX_FIGURES) | (n_places > MAX_FIGURES)
    if (too_long | (n_places < 0)).any():
        raise ValueError("fingerprints do not fit")
    data = values.astype("<u4").tobytes()
    for start, end in zip((4 * starts).tolist(), (4 * ends).tolist(), strict=True):
        yield data[start:end]


def _words(made_by: Sequence[str], blocks: Mapping[str, Array]) -> Iterator[PreparedWords]:
    sizes = blocks["token_counts"].astype(np.int64)
    n_sentences = blocks["sentence_counts"].astype(np.int64)
    if not len(made_by) == len(sizes) == len(n_sentences):
        raise ValueError("words are incomplete")
    vocabulary = np.array(json.loads(blocks["vocabulary"].tobytes()), dtype=object)
    lemmas: list[str] = vocabulary.take(blocks["lemmas"]).tolist() if len(vocabulary) else []
    flags = blocks["flags"]
    content, joined = (flags & 1).astype(np.bool_), (flags & 2).astype(np.bool_)
    lengths = blocks["lengths"].astype(np.int64)
    ends = np.cumsum(blocks["gaps"].astype(np.int64) + lengths)
    tokens_end = np.cumsum(sizes)
    offsets = np.append(0, ends)[tokens_end - sizes]
    ends -= np.repeat(offsets, sizes)
    spans = np.column_stack([ends - lengths, ends]).astype(np.int32)
    sentences = blocks["sentences"].astype(np.int32).reshape(-1, 2)
    sentences_end = np.cumsum(n_sentences)
    if len(made_by) and (tokens_end[-1] != len(lemmas) or sentences_end[-1] != len(sentences)):
        raise ValueError("words are incomplete")
    firsts = zip((tokens_end - sizes).tolist(), tokens_end.tolist(), strict=True)
    others = zip((sentences_end - n_sentences).tolist(), sentences_end.tolist(), strict=True)
    for by, (first, last), (begin, end) in zip(made_by, firsts, others, strict=True):
        yield PreparedWords(
            lemmas[first:last],
            spans[first:last],
            content[first:last],
            sentences[begin:end],
            joined[first:last],
            by,
        )


_FIELDS: dict[str, type] = {
    **dict.fromkeys(("id", "title", "text", "date", "lang", "source"), str),
    **dict.fromkeys(("hash", "language", "language_by", "words_by"), str),
    **dict.fromkeys(("metadata", "words"), dict),
}


def _item(item: Mapping[str, Any], prepared: PreparedText | None) -> Document | Reject:
    if "reject" in item:
        return Reject(str(item["reject"]), str(item["reason"]))
    for name, kind in _FIELDS.items():
        if name in item and not isinstance(item[name], kind):
            raise TypeError(f"{name} is {type(item[name]).__name__}")
    return Document(
        uid=item.get("id", ""),
        title=item.get("title", ""),
        body=item.get("text", ""),
        date=item.get("date"),
        lang=item.get("lang"),
        source=item.get("source", ""),
        metadata=item.get("metadata", {}),
        bag=item.get("words"),
        prepared=prepared,
    )
