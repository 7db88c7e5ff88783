"""The spool: answers come back whole and once, errors are raised, and it reports that it is full."""

from __future__ import annotations

import pytest

from segapsith.errors import FeedError
from segapsith.io.http import Answer
from segapsith.io.spool import RefusedError, Spool, check_answer, is_complete

URL = "https://a.example/wire"


def answer(body: bytes = b"", status: int = 200, retry_after: int | None = None) -> Answer:
    return Answer(URL, URL, status, body, retry_after=retry_after)


def test_an_answer_can_be_looked_at_often_and_taken_once() -> None:
    spool = Spool()
    for key in "ab":
        spool.put(key, (None, None), answer(key.encode() * 3))
    assert spool.peek("a") == spool.peek("a") == answer(b"aaa")
    assert spool.take("b", (None, None)) == answer(b"bbb")
    assert spool.take("b", (None, None)) is None
    assert ("a" in spool, "b" in spool) == (True, False)


def test_an_answer_to_other_validators_is_removed_unread() -> None:
    spool = Spool()
    spool.put("a", ('"1"', None), answer(b"body"))
    assert spool.take("a", ('"2"', None)) is None
    assert spool.peek("a") is None


def test_a_stored_error_is_raised_when_it_is_taken() -> None:
    spool = Spool()
    spool.put("a", (None, None), FeedError("a is down"))
    for read in (spool.peek, lambda key: spool.take(key, (None, None))):
        with pytest.raises(FeedError, match="a is down"):
            read("a")
    assert "a" not in spool


def test_a_spool_is_full_at_its_limit_and_bodies_count_alone() -> None:
    spool = Spool(max_bytes=4)
    spool.put("a", (None, None), FeedError("a long text of an error"))
    spool.put("b", (None, None), answer(b"123"))
    assert not spool.full
    spool.put("c", (None, None), answer(b"4"))
    assert spool.full


def test_an_answer_without_a_feed_is_refused_with_the_wish_to_wait() -> None:
    with pytest.raises(RefusedError, match=r"503.*retry after 60 s") as refused:
        check_answer(answer(status=503, retry_after=60), conditional=True)
    assert refused.value.retry_after == 60
    with pytest.raises(FeedError, match="empty"):
        check_answer(answer(b" \n"), conditional=False)
    with pytest.raises(RefusedError, match="304"):
        check_answer(answer(status=304), conditional=False)
    check_answer(answer(status=304), conditional=True)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_markup_is_complete_with_its_last_tag(encoding: str) -> None:
    text = '<?xml version="1.0"?><rss><channel/></rss>'
    assert is_complete(text.encode(encoding))
    assert not is_complete(text.removesuffix("</rss>").encode(encoding))
