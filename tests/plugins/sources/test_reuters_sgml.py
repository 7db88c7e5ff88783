"""The SGML of Reuters-21578."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from segapsith import Document, Reject
from segapsith.testing import source_checks
from segapsith_plugins.sources.reuters_sgml import ReutersSgml

Items = Callable[[Any, bytes], list[Document | Reject]]


@pytest.mark.parametrize("check", source_checks, ids=lambda check: check.__name__)
def test_it_keeps_the_contract(check: Callable[..., None]) -> None:
    check(ReutersSgml)


@pytest.mark.parametrize("name", ["reuters-sgml/broken.sgm", "reuters-sgml/reut.sgm"])
def test_its_samples_are_claimed(
    name: str, sample: Callable[[str], bytes], claimed: Callable[[bytes], str]
) -> None:
    assert claimed(sample(name)) == "reuters-sgml"


def test_broken_input_never_raises_and_ends(withstands: Callable[[Any, str], None]) -> None:
    withstands(ReutersSgml, "reuters-sgml")


def test_the_three_types_of_text(items: Items, sample: Callable[[str], bytes]) -> None:
    normal, brief, raw = items(ReutersSgml, sample("reuters-sgml/reut.sgm"))
    assert isinstance(normal, Document)
    assert isinstance(brief, Document) and isinstance(raw, Document)
    assert (normal.uid, normal.title) == ("901", "HARBOUR <HBR> TO REOPEN")
    assert normal.body == (
        "The harbour will reopen in March, its owners said.\n\n"
        "Cargo had been <stuck> for weeks & more."
    )
    assert normal.date == "1987-02-26T15:01:01"
    assert normal.metadata["topics"] == ["cocoa", "grain"]
    assert normal.metadata["lewissplit"] == "TRAIN"
    assert brief.title == "MILL SETS DIVIDEND"
    assert raw.body.startswith("Shr 34 cts")


def test_an_unclosed_element_costs_only_itself(
    items: Items, sample: Callable[[str], bytes]
) -> None:
    actual = items(ReutersSgml, sample("reuters-sgml/broken.sgm"))
    assert [type(item) for item in actual] == [Reject, Document, Reject]
