"""Shards: what is written is read again, and what is damaged is refused."""

from __future__ import annotations

import hashlib
import json
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from segapsith.errors import InputError
from segapsith.intake.fingerprints import signature
from segapsith.io.shards import MAGIC, ShardHeader, read_header, read_shard, write_shard
from segapsith.model import Document, PreparedText, PreparedWords, Reject

HEADER = ShardHeader("recipe", "key", 3, True, "rules 1", failures=(("InputError", "a: cut"),))

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40)


def words_of(text: str, joined: bool = True) -> PreparedWords:
    """Tokens between blanks."""
    spans, start = [], 0
    for part in text.split(" "):
        if part:
            spans.append((start, start + len(part)))
        start += len(part) + 1
    n_tokens = len(spans)
    flags = np.full(n_tokens, joined, np.bool_)
    flags[-1:] = False
    return PreparedWords(
        [text[start:end].lower() for start, end in spans],
        np.array(spans, np.int32).reshape(-1, 2),
        np.arange(n_tokens) % 2 == 0,
        np.array([[0, len(text)]] if text else [], np.int32).reshape(-1, 2),
        flags,
        "words by blanks",
    )


def story(title: str, body: str, *, has_words: bool = True, **others: Any) -> Document:
    plain = Document(title=title, body=body, **others)
    words = words_of(plain.text) if has_words else None
    blob = bytes(signature(plain.text))
    prepared = PreparedText(title, body, "ab" * 32, blob, "en", "lang=auto", words)
    return Document(title=title, body=body, prepared=prepared, **others)


def same(left: Document | Reject, right: Document | Reject) -> bool:
    """Whether two items are equal, with what was prepared."""
    if left != right or isinstance(left, Reject) or isinstance(right, Reject):
        return left == right
    a, b = left.prepared, right.prepared
    if a is None or b is None:
        return a is b
    if (a.digest, a.signature, a.lang, a.lang_by) != (b.digest, b.signature, b.lang, b.lang_by):
        return False
    if a.words is None or b.words is None:
        return a.words is b.words
    return (
        list(a.words.lemmas) == list(b.words.lemmas)
        and a.words.made_by == b.words.made_by
        and all(
            np.array_equal(getattr(a.words, name), getattr(b.words, name))
            and getattr(a.words, name).dtype == getattr(b.words, name).dtype
            for name in ("spans", "content", "sentences", "joined")
        )
    )


@settings(deadline=None, max_examples=40)
@given(st.lists(st.tuples(texts, texts, st.integers(0, 4)), max_size=6))
def test_what_is_written_is_read_again(drawn: list[tuple[str, str, int]]) -> None:
    items: list[Document | Reject] = []
    for title, body, kind in drawn:
        if kind == 0:
            items.append(Reject(title, body))
        elif kind == 1:
            items.append(Document("u", bag={"river": 2}, metadata={"title": title}))
        elif kind == 2:
            items.append(Document(title, title, body, lang="fr", metadata={"tags": [body, None]}))
        else:
            items.append(story(title, body, has_words=kind == 3, date="2026-03-02", source="AGX"))
    data = write_shard(HEADER, items)
    again = list(read_shard(data, "a.shard", "rules 1"))
    assert len(again) == len(items) and all(map(same, items, again))
    header = read_header(data, "a.shard")
    n_rejects = sum(isinstance(item, Reject) for item in items)
    assert (header.n_stories, header.n_rejects) == (len(items) - n_rejects, n_rejects)
    assert (header.recipe, header.made_from, header.part) == ("recipe", "key", 3)
    assert header.is_last and header.failures == (("InputError", "a: cut"),)
    assert data == write_shard(HEADER, again)


def test_a_prepared_text_shares_the_strings_of_its_document() -> None:
    (again,) = read_shard(write_shard(HEADER, [story("Flood", "Rain fell.")]), "a", "rules 1")
    assert isinstance(again, Document) and again.prepared is not None
    assert again.prepared.title is again.title and again.prepared.body is again.body
    assert again.prepared.is_of(again)


def test_a_shard_of_other_rules_comes_without_prepared_texts() -> None:
    (again,) = read_shard(write_shard(HEADER, [story("Flood", "Rain fell.")]), "a", "rules 2")
    assert again == Document(title="Flood", body="Rain fell.")
    assert isinstance(again, Document) and again.prepared is None


def test_numpy_and_json_alone_can_read_it() -> None:
    data = write_shard(HEADER, [story("Flood", "Rain fell on Monday.")])
    first, second, rest = data.split(b"\n", 2)
    assert first.startswith(MAGIC + b"1 ")
    start, blocks = 0, {}
    for name, kind, size in json.loads(second)["blocks"]:
        blocks[name] = np.frombuffer(rest, kind, size, start)
        start += blocks[name].nbytes
    vocabulary = json.loads(blocks["vocabulary"].tobytes())
    assert [vocabulary[number] for number in blocks["lemmas"]][:2] == ["flood\n\nrain", "fell"]
    assert json.loads(blocks["items"].tobytes())[0]["title"] == "Flood"


@pytest.mark.parametrize("seed", range(30))
def test_damage_is_found(seed: int) -> None:
    data = bytearray(write_shard(HEADER, [story("Flood", "Rain fell.")]))
    draw = random.Random(seed)
    place = draw.randrange(len(MAGIC), len(data))
    data[place] ^= 1 << draw.randrange(8)
    with pytest.raises(InputError, match="the shard"):
        list(read_shard(bytes(data), "a.shard", "rules 1"))


@pytest.mark.parametrize("data", [b"", MAGIC, MAGIC + b"1 x\n{}\n", MAGIC + b"1 " + b"0" * 64])
def test_what_is_cut_off_is_refused(data: bytes) -> None:
    with pytest.raises(InputError, match=r"a\.shard: the shard is damaged \(.*prepare its archive"):
        list(read_shard(data, "a.shard", "rules 1"))
    with pytest.raises(InputError, match="the shard is damaged"):
        read_header(data, "a.shard")


def test_another_layout_is_named() -> None:
    data = write_shard(HEADER, []).replace(MAGIC + b"1 ", MAGIC + b"2 ", 1)
    with pytest.raises(InputError, match="has layout 2, this program reads layout 1"):
        list(read_shard(data, "a.shard", "rules 1"))


def rehashed(data: bytes, old: bytes, new: bytes) -> bytes:
    """A shard with changed content whose hash is right."""
    body = data.partition(b"\n")[2].replace(old, new)
    return MAGIC + b"1 " + hashlib.sha256(body).hexdigest().encode() + b"\n" + body


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"hash":"ab', b'"hush":"ab'),
        (b'"title":"Flood"', b'"title":1234567'),
        (b'["gaps","|u1"', b'["gaps","|i1"'),
        (b'["signature_sizes","|u1",1]', b'["signature_sizes","|u1",0]'),
        (b'["token_counts"', b'["token_co__ts"'),
        (b'"is_last":true', b'"is_lost":true'),
        (b'"words_by"', b'"words_of"'),
    ],
)
def test_content_that_makes_no_sense_is_damage(old: bytes, new: bytes) -> None:
    data = write_shard(HEADER, [story("Flood", "Rain fell. " * 200)])
    assert old in data
    with pytest.raises(InputError, match="the shard is damaged"):
        list(read_shard(rehashed(data, old, new), "a.shard", "rules 1"))
