"""Ids of stories from feeds: one word, unique, and recognised under their former form."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from segapsith import limits
from segapsith.intake.feed_ids import feed_uid, former_uids, guid_of, of_former_uid, written_guid

URL = "https://example.org/wire"
guids = st.text(min_size=1, max_size=1200).map(str.strip).filter(bool)


@given(guids)
def test_an_id_has_no_blank_and_is_not_too_long(guid: str) -> None:
    uid = feed_uid(URL, guid)
    assert len(uid.split()) == 1
    assert len(uid) <= limits.MAX_UID_CHARS


@given(guids)
def test_a_former_id_becomes_the_id_that_the_feed_gives_now(guid: str) -> None:
    assert of_former_uid(f"{URL} {guid}") == feed_uid(URL, guid)


@given(st.text(st.characters(exclude_categories=("Cs", "Cc", "Z")), min_size=1, max_size=300))
def test_the_former_id_is_found_again_from_the_present_one(guid: str) -> None:
    with_blank = f"{guid} {guid}"
    assert f"{URL} {guid}" in former_uids(feed_uid(URL, guid))
    assert f"{URL} {with_blank}" in former_uids(feed_uid(URL, with_blank)) or "%20" in guid


def test_the_guid_of_an_id_is_everything_after_the_first_sign() -> None:
    assert guid_of(feed_uid(URL, "urn:1#2")) == "urn:1#2"
    assert guid_of("urn:1#2") is None
    assert guid_of(URL) is None


def test_a_guid_that_is_too_long_is_hashed_in_both_forms() -> None:
    guid = "g" * limits.MAX_UID_CHARS
    assert feed_uid(URL, guid).startswith(f"{URL}#sha256:")
    assert of_former_uid(feed_uid(URL, guid).replace("#", " ")) == feed_uid(URL, guid)


def test_ids_of_files_stay_as_they_are() -> None:
    assert of_former_uid("a story") == "a story"
    assert of_former_uid(URL) == URL
    assert former_uids("a story") == []
    assert written_guid("tag:1") == "tag:1"
