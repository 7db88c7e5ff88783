"""Items of an XML stream: found by their tags, each refused or read on its own."""

from __future__ import annotations

import io
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segapsith import limits
from segapsith.io import markup, xml_items
from segapsith.io.xml import XmlError, parsed, rewritten
from segapsith.io.xml_items import Piece, pieces
from segapsith.model import Reject


def cut(data: bytes | str, *names: str) -> list[Piece | Reject]:
    raw = data.encode() if isinstance(data, str) else data
    return list(pieces(io.BytesIO(raw), names or ("item",), "test"))


def texts(items: list[Piece | Reject]) -> list[str]:
    return [item.text if isinstance(item, Piece) else "refused" for item in items]


@pytest.mark.parametrize(
    "declared",
    [
        '<!ENTITY a "lol"><!ENTITY b "&a;&a;&a;&a;">',
        f'<!ENTITY b "{"x" * 50_000}">',
        '<!ENTITY b SYSTEM "file:///etc/passwd">',
        '<!ENTITY b PUBLIC "p" "http://127.0.0.1/trap">',
        '<!ENTITY % b "c">',
    ],
    ids=["laughs", "blowup", "file", "network", "parameter"],
)
def test_declared_entities_are_never_expanded(declared: str) -> None:
    document = f"<?xml version='1.0'?><!DOCTYPE d [{declared}]><d><item>ok</item><item>{'&b;' * 9}</item></d>"
    first, second = cut(document)
    assert isinstance(first, Piece) and isinstance(second, Piece)
    assert first.head.entities["b"] is None
    assert parsed(first.text, first.head.entities).text == "ok"
    with pytest.raises(XmlError, match="entity &b;"):
        parsed(second.text, second.head.entities)
    with pytest.raises(XmlError, match="entity &b;"):
        rewritten(second.text, entities=second.head.entities)


def test_an_entity_that_stands_for_a_few_letters_is_written_out() -> None:
    head = "<!DOCTYPE d [<!ENTITY ag 'R&#38;D &#60;Caf&#233;&#62;'><!ENTITY ag 'second'>]>"
    (only,) = cut(f"{head}<d><item a='&ag;'>By &ag;<![CDATA[&ag;]]></item></d>")
    assert isinstance(only, Piece)
    element = parsed(only.text, only.head.entities)
    assert (element.text, element.attributes["a"]) == ("By R&D <Café>&ag;", "R&D <Café>")
    (long,) = cut(f"<!DOCTYPE d [<!ENTITY a '{'x' * 200}'>]><d><item>{'&a;' * 5000}</item></d>")
    assert isinstance(long, Piece)
    with pytest.raises(XmlError, match="add more than 100,000 characters"):
        parsed(long.text, long.head.entities)


def test_an_external_document_type_is_not_fetched() -> None:
    (only,) = cut('<!DOCTYPE d SYSTEM "http://127.0.0.1:9/trap.dtd"><d><item>&eacute;</item></d>')
    assert isinstance(only, Piece)
    assert parsed(only.text).text == "é"


def test_an_item_that_is_too_long_is_refused_and_the_next_one_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits, "MAX_ITEM_CHARS", 5000)
    monkeypatch.setattr(xml_items, "WINDOW", 1000)
    data = f"<d><item>a</item><item>{'x' * 300_000}</item><item>b</item></d>"
    assert texts(cut(data)) == ["<item>a</item>", "refused", "<item>b</item>"]


def test_items_of_any_number_need_one_window(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xml_items, "WINDOW", 500)
    data = "<d>" + "".join(f"<item n='{n}'>{'x' * (n % 700)}</item>" for n in range(2000)) + "</d>"
    items = cut(data)
    assert [p.number for p in items if isinstance(p, Piece)] == list(range(1, 2001))


def test_comments_and_sections_hide_tags() -> None:
    data = "<d><!-- <item>no</item> --><item><![CDATA[</item><item>]]>yes</item></d>"
    assert texts(cut(data)) == ["<item><![CDATA[</item><item>]]>yes</item>"]
    assert texts(cut("<d><item>a</item><!-- never closed <item>b</item></d>")) == [
        "<item>a</item>",
        "<item>b</item>",
    ]


def test_an_item_may_have_a_prefix_and_contain_others() -> None:
    data = "<d><items><x:item>a<item>inner</item></x:item></items><x:item/></d>"
    assert texts(cut(data)) == ["<x:item>a<item>inner</item></x:item>", "<x:item/>"]
    outer = "<d><newsItem>a<newsItem>b</newsItem></newsItem></d>"
    assert texts(cut(outer, "newsitem")) == ["<newsItem>a<newsItem>b</newsItem></newsItem>"]


def test_a_truncated_document_gives_its_complete_items() -> None:
    items = cut("<d><item>a</item><item>b</it")
    assert texts(items) == ["<item>a</item>", "refused"]
    assert isinstance(items[1], Reject) and "ends inside" in items[1].reason


def test_the_head_lists_the_open_elements() -> None:
    (only,) = cut('<d xml:lang="en"><t>x</t><e xml:lang="fr"><br/><item>a</item></e></d>')
    assert isinstance(only, Piece)
    assert [o.name for o in only.head.opened] == ["d", "e"]
    assert only.head.language == "fr"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "utf-32"])
def test_items_are_read_in_any_unicode_encoding(encoding: str) -> None:
    assert texts(cut("<d><item>été</item></d>".encode(encoding))) == ["<item>été</item>"]


def test_a_wrong_declaration_is_not_believed() -> None:
    data = b'<?xml version="1.0" encoding="iso-8859-1"?><d><item>' + "été".encode() + b"</item></d>"
    assert texts(cut(data)) == ["<item>été</item>"]
    data = b'<?xml version="1.0" encoding="utf-8"?><d><item>\xe9t\xe9</item></d>'
    assert texts(cut(data)) == ["<item>été</item>"]
    data = b'<?xml version="1.0" encoding="no-such"?><d><item>\xe9t\xe9</item></d>'
    assert texts(cut(data)) == ["<item>été</item>"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece", ["<", "<!--", "<![CDATA[", "<?", "<!", "<!D[", "&", "<a ", '<a b="', "<a b='", "</a", "<item>", "<a/>", "]]>"]
)  # fmt: skip
def test_time_grows_with_length_only(piece: str) -> None:
    text = piece * (400_000 // len(piece))
    began = time.process_time()
    list(markup.tokens(text))
    list(markup.tokens(text, page=True))
    cut(f"<d><item>{text}")
    cut(f"<d>{text}</d>")
    assert time.process_time() - began < 15  # quadratic work would take hours


@given(st.lists(st.text(alphabet="ab<>&é\n", max_size=20), max_size=6), st.integers(1, 60))
def test_windows_do_not_matter(bodies: list[str], window: int) -> None:
    data = "<d>" + "".join(f"<item>{markup.html.escape(b)}</item>" for b in bodies) + "</d>"
    whole = cut(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(xml_items, "WINDOW", window)
        assert cut(data) == whole
    assert len(whole) == len(bodies)


def test_a_missing_end_tag_costs_one_item() -> None:
    items = cut("<d><item>a<item>b</item><item>c</item></d>")
    assert texts(items) == ["refused", "<item>b</item>", "<item>c</item>"]
    assert items[0] == Reject("test: item 1", "the next item begins inside this one")
