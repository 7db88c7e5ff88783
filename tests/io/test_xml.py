"""XML that is meant to do harm, and XML that is only broken."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from segapsith import limits
from segapsith.io.xml import XmlError, parsed, rewritten, root_name


def test_an_element_gives_names_texts_and_descendants() -> None:
    root = parsed(
        '<a:Doc xmlns:a="x" xml:lang="fr"><b k="1">one <c>two</c></b><b>three</b></a:Doc>'
    )
    assert (root.name, root.attributes["lang"]) == ("doc", "fr")
    assert [b.text for b in root.all("b")] == ["one two", "three"]
    assert root.first("b", "c") is root.child("b", "c")
    assert root.child("c") is None


def test_a_document_type_inside_an_item_is_refused() -> None:
    with pytest.raises(XmlError):
        parsed('<!DOCTYPE d [<!ENTITY b SYSTEM "file:///etc/passwd">]><d>&b;</d>')


@pytest.mark.slow
def test_nesting_elements_and_attributes_are_bounded() -> None:
    deep = "<a>" * (limits.MAX_XML_DEPTH + 1)
    with pytest.raises(XmlError, match="nested"):
        parsed(deep + "</a>" * (limits.MAX_XML_DEPTH + 1))
    with pytest.raises(XmlError, match="nested"):
        parsed(deep)  # the lenient parser has the same limits
    with pytest.raises(XmlError, match="elements"):
        parsed(f"<a>{'<b/>' * (limits.MAX_XML_ELEMENTS + 1)}</a>")
    many = " ".join(f'a{n}=""' for n in range(limits.MAX_XML_ATTRIBUTES + 1))
    with pytest.raises(XmlError, match="attributes"):
        parsed(f"<a {many}/>")


def test_a_huge_attribute_is_read() -> None:
    value = "x" * 3_000_000
    assert parsed(f'<a b="{value}"/>').attributes["b"] == value


def test_broken_markup_is_repaired() -> None:
    broken = '<item a=1 b="2" b="3"><t>AT&T &eacute; &nope; 3 < 4</t><p>one<p>two<br>\x08</item>'
    root = parsed(broken)
    assert root.attributes == {"a": "1", "b": "2"}
    assert root.first("t") is not None
    assert root.text == "AT&T é &nope; 3 < 4onetwo�"
    again, prefixes = rewritten("<x:a>R&D<y:b c:d='&quot;'>")
    assert again == "<x:a>R&amp;D<y:b c:d='\"'></y:b></x:a>"
    assert prefixes == {"x", "y", "c"}


def test_the_root_is_recognised_after_declarations_and_comments() -> None:
    assert (
        root_name(
            b"\xef\xbb\xbf\n<?xml version='1.0'?><!DOCTYPE a [<!ENTITY b 'c'>]><!-- <x> --><rss>"
        )
        == "rss"
    )
    assert root_name(b"text <b>") == ""


@given(st.text(alphabet="<>/!-[]?&;#ab= \"'CDATA\x00é", max_size=200))
@example("<![CDATA[")
@example("<a b=\"'>")
def test_any_text_gives_well_formed_output(text: str) -> None:
    wrapped = f"<item>{text}</item>"
    try:
        written, _ = rewritten(wrapped)
    except XmlError:
        return
    assert rewritten(written)[0] == written
