"""A corpus of wire files made after the specifications and after the habits of real senders.

`corpus(seed, n)` gives well-formed files of every format, each with the stories that a reader must
find in it; `broken(data, random)` damages one. Nothing here is taken from anywhere: the stories are
put together from a few words, the shapes from what agencies, content systems and feed builders do.
"""

from __future__ import annotations

import base64
import json
import random
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from html import escape as html_escape
from xml.sax.saxutils import escape, quoteattr

__all__ = ["Made", "Story", "broken", "corpus", "missing"]


@dataclass(frozen=True)
class Story:
    """What a file says: a title (or none) and paragraphs."""

    title: str
    paragraphs: tuple[str, ...]
    uid: str
    lang: str = "en"


@dataclass(frozen=True)
class Made:
    """A file, what it is, and the stories in it."""

    name: str
    source: str
    data: bytes
    stories: tuple[Story, ...]
    habits: tuple[str, ...] = ()


# -- stories -------------------------------------------------------------------------------

_SUBJECTS = {
    "en": ["The river", "A minister", "Smith & Sons", "The AT&T board", "Police", "The ‘old’ bank",
           "O'Neill", "The euro-zone", "Beyoncé", "São Paulo's mayor", "The 5th court"],
    "fr": ["Le ministre", "L'État", "La députée", "Peugeot & Cie", "Le juge d'instruction",
           "L’Élysée", "Le chef-d'œuvre", "Aujourd'hui, le maire", "Le Conseil d’État"],
    "ru": ["Река", "Министр", "Полиция", "Центральный банк", "Суд", "Город"],
}  # fmt: skip
_VERBS = {
    "en": ["rose by 1.5%", "said on Monday that", "refused", "won 3-2 against", "sold", "opened",
           "told reporters", "paid $4.2 mln for", "closed"],
    "fr": ["a été élu", "déclare à l’AFP", "a ouvert", "n'a pas vu", "a coûté 12 M€", "ferme",
           "s'est réuni(e) à"],
    "ru": ["открыл", "закрыла", "сообщил", "купила", "видел"],
}  # fmt: skip
_OBJECTS = {
    "en": ["the bridge", "a \"historic\" deal", "its debts", "two schools – and a museum", "Q&A time",
           "the harbour", "the naïve plan", "200 km of rail"],
    "fr": ["le pont", "la mairie", "« un accord »", "deux écoles", "la forêt", "l'œuvre", "Noël"],
    "ru": ["мост", "школу", "завод", "новый музей"],
}  # fmt: skip


class _Maker:
    """Chooses; everything follows from the seed."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.habits: list[str] = []
        self._n_stories = 0

    def one(self, *choices: str) -> str:
        """One of these; it is remembered as a habit of the file."""
        chosen = self.chance.choice(choices)
        if chosen:
            self.habits.append(chosen if len(chosen) < 40 else chosen[:40])
        return chosen

    def yes(self, habit: str, odds: float = 0.3) -> bool:
        """Whether the file has this habit."""
        happens = self.chance.random() < odds
        if happens:
            self.habits.append(habit)
        return happens

    def sentence(self, lang: str) -> str:
        words = [self.chance.choice(part[lang]) for part in (_SUBJECTS, _VERBS, _OBJECTS)]
        self._n_stories += 1
        return " ".join(words) + f" {self._n_stories}"

    def story(self, lang: str, longest: int = 4) -> Story:
        title = self.sentence(lang)
        paragraphs = tuple(
            ". ".join(self.sentence(lang) for _ in range(self.chance.randint(2, 4))) + "."
            for _ in range(self.chance.randint(1, longest))
        )
        return Story(title, paragraphs, f"urn:x:{self.chance.getrandbits(40)}", lang)

    def stories(self, lang: str, most: int = 6) -> list[Story]:
        return [self.story(lang) for _ in range(self.chance.randint(1, most))]

    def lang(self) -> str:
        return self.chance.choice(["en", "en", "fr", "fr", "ru"])


# -- what XML files have in common -------------------------------------------------------------

_BYTES = {
    "en": ["utf-8", "utf-8", "utf-8-sig", "utf-16", "iso-8859-1", "windows-1252", "us-ascii"],
    "fr": ["utf-8", "utf-8", "utf-8-sig", "utf-16", "iso-8859-15", "windows-1252", "UTF-16LE"],
    "ru": ["utf-8", "utf-8-sig", "utf-16", "koi8-r", "windows-1251", "iso-8859-5"],
}


def _xml_bytes(maker: _Maker, body: str, lang: str, doctype: str = "") -> bytes:
    """A prolog of some habit, and bytes of some encoding; what does not fit is a reference."""
    encoding = maker.one(*_BYTES[lang])
    named = {"utf-8-sig": "utf-8", "UTF-16LE": "utf-16"}.get(encoding, encoding)
    quote = maker.chance.choice("\"'")
    version = "1.1" if maker.yes("XML 1.1", 0.05) else "1.0"
    declared = f" encoding={quote}{named.upper() if maker.yes('upper', 0.3) else named}{quote}"
    if named == "utf-8" and maker.yes("no encoding", 0.3):
        declared = ""
    if named == "utf-8" and maker.yes("wrong declared encoding", 0.08):
        declared = f" encoding={quote}iso-8859-1{quote}"
    prolog = f"<?xml version={quote}{version}{quote}{declared}?>"
    if named == "utf-8" and maker.yes("no prolog", 0.1):
        prolog = ""
    between = [prolog]
    if maker.yes("stylesheet"):
        between.append('<?xml-stylesheet type="text/xsl" href="/style/feed.xsl" media="screen"?>')
    if maker.yes("comment"):
        between.append("<!-- made by wire-builder 2.1 <item> on 2026-03-02 -->")
    if doctype:
        between.append(doctype)
    if maker.yes("comment behind", 0.1):
        between.append("<!-- <rss><channel><item/></channel></rss> -->")
    ending = maker.chance.choice(["\n", "\r\n", "", "\n\n"]) if prolog else "\n"
    text = ending.join([*between, body])
    if maker.yes("blank before", 0.08):
        text = "\n \n" + text
    if maker.yes("blank behind", 0.2):
        text += "\n\n"
    if encoding == "UTF-16LE":
        return text.encode("utf-16-le")
    return text.encode(encoding, "xmlcharrefreplace")


def _paragraphs(maker: _Maker, story: Story) -> str:
    """The body as HTML, of some editor's habit."""
    kind = maker.one("p", "div", "br", "furniture", "upper", "spans", "named")
    marked = [html_escape(p, quote=maker.chance.random() < 0.5) for p in story.paragraphs]
    if kind == "named":  # entities of HTML
        marked = [
            m.replace("é", "&eacute;").replace("–", "&ndash;").replace("’", "&rsquo;")
            .replace(" ", "&nbsp;", 1)
            for m in marked
        ]  # fmt: skip
    if kind == "div":
        return "".join(f'<div class="par">{m}</div>' for m in marked)
    if kind == "br":
        return "<br /><br>".join(marked)
    if kind == "upper":
        return "".join(f"<P ALIGN=LEFT>{m}</P>\n" for m in marked)
    if kind == "spans":
        return "".join(f"<p><span style='color: red'><b>{m[:3]}</b>{m[3:]}</span></p>"
                       if "&" not in m[:6] else f"<p>{m}</p>" for m in marked)  # fmt: skip
    if kind == "furniture":
        picture = '<img src="https://pic.example/a.jpg?x=1&amp;y=2" alt="" width="1" height="1"/>'
        return picture + "".join(f"<p>{m}</p>" for m in marked) + "<script>track(1 < 2)</script>"
    return "".join(f"<p>{m}</p>" for m in marked)


def _xhtml(story: Story, prefix: str = "") -> str:
    return "".join(f"<{prefix}p>{escape(p)}</{prefix}p>" for p in story.paragraphs)


def _carried(maker: _Maker, html: str) -> str:
    """HTML inside XML text: escaped, or in a section."""
    kind = maker.one("escaped", "cdata", "cdata", "two sections")
    if kind == "escaped":
        return escape(html)
    if kind == "two sections":
        cut = len(html) // 2
        return f"<![CDATA[{html[:cut]}]]><![CDATA[{html[cut:]}]]>"
    return f"<![CDATA[{html}]]>"


def _element(name: str, text: str, attributes: str = "") -> str:
    return f"<{name}{attributes}>{text}</{name}>"


def _in_order(maker: _Maker, parts: Sequence[str]) -> str:
    mixed = [part for part in parts if part]
    if maker.yes("fields in any order"):
        maker.chance.shuffle(mixed)
    return maker.chance.choice(["", "\n", "\r\n    ", "\n\t"]).join(["", *mixed, ""])


# -- RSS ---------------------------------------------------------------------------------------

_SPACES = {
    "content": "http://purl.org/rss/1.0/modules/content/",
    "dc": "http://purl.org/dc/elements/1.1/",
    "media": "http://search.yahoo.com/mrss/",
    "georss": "http://www.georss.org/georss",
    "itunes": "http://www.itunes.com/dtds/podcast-1.0.dtd",
    "atom": "http://www.w3.org/2005/Atom",
    "slash": "http://purl.org/rss/1.0/modules/slash/",
    "wfw": "http://wellformedweb.org/CommentAPI/",
    "sy": "http://purl.org/rss/1.0/modules/syndication/",
}
_DATES = ("Mon, 02 Mar 2026 06:15:00 GMT", "Mon, 2 Mar 2026 07:15:00 +0100", "2026-03-02T06:15:00Z",
          "02 Mar 2026 06:15 EST", "2026-03-02 06:15:00", "Mon Mar  2 06:15:00 2026", "")  # fmt: skip


def _title(maker: _Maker, story: Story) -> str:
    kind = maker.one("plain", "plain", "cdata title", "escaped twice", "spaced", "references")
    if kind == "cdata title":
        return f"<![CDATA[{story.title}]]>"
    if kind == "escaped twice":
        return escape(html_escape(story.title))
    if kind == "spaced":
        return f"\n   {escape(story.title)}\n  "
    if kind == "references":
        return "".join(f"&#{ord(c)};" if ord(c) > 126 or c in "&'" else c for c in escape(story.title)
                       .replace("&amp;", "&"))  # fmt: skip
    return escape(story.title)


def _rss_item(
    maker: _Maker, story: Story, prefixes: dict[str, str], version: str
) -> tuple[str, Story]:
    link = f"https://wire.example/{story.uid[6:]}?a=1&b=2"
    dc, content = prefixes["dc"], prefixes["content"]
    title = _element("title", _title(maker, story))
    html = _paragraphs(maker, story)
    shape = maker.one(
        "description",
        "encoded",
        "both",
        "plain description",
        "no title",
        "media",
        "raw markup",
        "whole page",
        "podcast",
        "media text",
        "dublin only",
        "section end",
        "body element",
        "export",
        "shouted",
        "escaped thrice",
        "content element",
    )
    if version in ("0.90", "0.91", "0.92") and shape not in ("plain description", "no title"):
        shape = "description"
    description = _element("description", _carried(maker, html))
    extra = ""
    if shape == "encoded":
        description, extra = "", _element(f"{content}:encoded", _carried(maker, html))
    elif shape == "both":
        description = _element("description", escape(story.paragraphs[0][:30]) + "…")
        extra = _element(f"{content}:encoded", _carried(maker, html))
    elif shape == "plain description":
        description = _element("description", escape("\n".join(story.paragraphs)))
    elif shape == "no title":
        title, story = "", replace(story, title="")
    elif shape == "media":
        m = prefixes["media"]
        extra = (
            f'<{m}:group><{m}:content url="https://pic.example/a.jpg" medium="image">'
            f'<{m}:title type="plain">A picture</{m}:title><{m}:credit>AFP</{m}:credit>'
            f"</{m}:content></{m}:group><{m}:thumbnail url='https://pic.example/b.jpg'/>"
        )
    elif shape == "raw markup":
        description = _element("description", _xhtml(story))
    elif shape == "whole page":
        page = f"<html><head><title>x</title></head><body>{html}</body></html>"
        description = _element("description", _carried(maker, page))
    elif shape == "podcast":
        description = _element("itunes:summary", escape(" ".join(story.paragraphs)))
        title = (
            _element("itunes:title", escape(story.title)) if maker.yes("no own title") else title
        )
    elif shape == "media text":
        m = prefixes["media"]
        description = (
            f"<{m}:content url='https://x.example/v.mp4' medium='video'><{m}:title>{escape(story.title)}"
            f"</{m}:title><{m}:description type='html'>{escape(html)}</{m}:description></{m}:content>"
        )
    elif shape == "dublin only":
        title = _element(f"{dc}:title", escape(story.title))
        description = _element(f"{dc}:description", escape(" ".join(story.paragraphs)))
    elif shape == "section end":
        description = _element("description", f"<![CDATA[{html}<!-- ]]]]><![CDATA[> -->]]>")
    elif shape == "body element":
        description = f'<body xmlns="http://www.w3.org/1999/xhtml">{_xhtml(story)}</body>'
    elif shape == "export":
        description = "<description></description>"
        extra = _element(f"{content}:encoded", f"<![CDATA[{html}]]>") + (
            '<excerpt:encoded xmlns:excerpt="http://wordpress.org/export/1.2/excerpt/">'
            "<![CDATA[]]></excerpt:encoded>"
            '<wp:status xmlns:wp="http://wordpress.org/export/1.2/">publish</wp:status>'
        )
    elif shape == "shouted":
        description = _element("DESCRIPTION", _carried(maker, html))
    elif shape == "escaped thrice":
        description = _element("description", f"<![CDATA[{escape(html)}]]>")
    elif shape == "content element":
        description = _element("content", _carried(maker, html), ' type="html"')
    date = maker.one(*_DATES)
    parts = [title, description, extra, _element("link", escape(link))]
    if version in ("2.0", "0.94"):
        parts.append(_element("guid", escape(story.uid), ' isPermaLink="false"'))
        if maker.yes("enclosure"):
            parts.append('<enclosure url="https://x.example/a.mp3" length="1" type="audio/mpeg"/>')
        if maker.yes("comments"):
            parts.append("<comments>https://wire.example/c#respond</comments>")
        if maker.yes("source", 0.1):
            parts.append('<source url="https://o.example/rss">Other wire</source>')
    if version in ("2.0", "0.92", "0.93", "0.94"):
        parts += [f"<category domain='x'><![CDATA[{c}]]></category>" for c in ("News", "A & B")]
    if date and version in ("2.0", "0.93", "0.94"):
        parts.append(_element("pubDate", date))
    if maker.yes("dc"):
        parts.append(_element(f"{dc}:creator", "<![CDATA[Jane Roe]]>"))
        parts.append(_element(f"{dc}:date", "2026-03-02T06:15:00+01:00"))
    if maker.yes("georss", 0.1):
        parts.append("<georss:point>45.256 -71.92</georss:point>")
    if maker.yes("itunes", 0.1):
        parts.append(
            "<itunes:summary>Short</itunes:summary><itunes:duration>1:02</itunes:duration>"
        )
    return _in_order(maker, parts), story


def _rss(maker: _Maker) -> tuple[bytes, list[Story]]:
    lang = maker.lang()
    version = maker.one("2.0", "2.0", "2.0", "0.91", "0.92", "0.93", "0.94")
    spaces = dict(_SPACES)
    prefixes = {name: name for name in spaces}
    if maker.yes("odd prefixes", 0.15):
        prefixes |= {"content": "c0", "dc": "dublin", "media": "mrss"}
    items, stories = [], []
    for story in maker.stories(lang):
        item, told = _rss_item(maker, story, prefixes, version)
        items.append(f"<item>{item}</item>")
        stories.append(told)
    declared = " ".join(f"xmlns:{prefixes[n]}={quoteattr(uri)}" for n, uri in spaces.items())
    if maker.yes("default namespace", 0.05):
        declared += ' xmlns="http://backend.userland.com/rss2"'
    head = [
        _element("title", escape("The wire & more")),
        "<link>https://wire.example/</link>",
        _element("description", maker.chance.choice(["", "News", "<![CDATA[<b>News</b>]]>"])),
        _element("language", {"en": "en-us", "fr": "fr-FR", "ru": "ru"}[lang]),
        "<image><title>Logo</title><url>https://x.example/l.png</url><link>https://x.example</link></image>"
        if maker.yes("image") else "",
        '<atom:link href="https://wire.example/rss" rel="self" type="application/rss+xml"/>'
        if maker.yes("self link") else "",
        "<textInput><title>Search</title><description>Find</description><name>q</name>"
        "<link>https://x.example/s</link></textInput>" if maker.yes("input", 0.1) else "",
        "<ttl>15</ttl><skipHours><hour>1</hour></skipHours>" if maker.yes("ttl") else "",
    ]  # fmt: skip
    between = maker.chance.choice(["", "\n", "\n<!-- next -->\n"])
    channel = "".join(head) + between.join(items)
    if maker.yes("title behind the items", 0.05):
        channel = between.join(items) + "".join(head)
    doctype = ""
    if version == "0.91":
        doctype = maker.one(
            "",
            '<!DOCTYPE rss PUBLIC "-//Netscape Communications//DTD RSS 0.91//EN" '
            '"http://my.netscape.com/publish/formats/rss-0.91.dtd">',
            '<!DOCTYPE rss SYSTEM "http://backend.userland.com/rss091.dtd">',
        )
    elif maker.yes("internal subset", 0.06):
        doctype = '<!DOCTYPE rss [<!ENTITY % HTMLlat1 "ignored"><!ENTITY nbsp "&#160;">]>'
    elif maker.yes("own entity", 0.04):
        doctype = '<!DOCTYPE rss [\n<!ENTITY agency "Agence de l&#39;Est">\n]>'
        channel = channel.replace("</item>", "<author>&agency;</author></item>", 1)
    return _xml_bytes(
        maker,
        f'<rss version="{version}" {declared}><channel>{channel}</channel></rss>',
        lang,
        doctype,
    ), stories


def _rdf(maker: _Maker) -> tuple[bytes, list[Story]]:
    lang = maker.lang()
    version = maker.one("1.0", "1.0", "0.90", "1.1")
    default = {
        "1.0": "http://purl.org/rss/1.0/",
        "0.90": "http://my.netscape.com/rdf/simple/0.9/",
        "1.1": "http://purl.org/net/rss1.1#",
    }[version]
    rdf = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
    prefixes = {name: name for name in _SPACES}
    items, stories, places = [], [], []
    for story in maker.stories(lang):
        item, told = _rss_item(maker, story, prefixes, "0.90" if version == "0.90" else "1.0")
        where = f"https://wire.example/{story.uid[6:]}"
        places.append(where)
        about = f' rdf:about="{where}"' if version != "0.90" else ""
        items.append(f"<item{about}>{item}</item>")
        stories.append(told)
    declared = "".join(f" xmlns:{n}={quoteattr(u)}" for n, u in _SPACES.items())
    head = "<title>Wire</title><link>https://wire.example</link><description>N</description>"
    if version == "1.1":
        body = (
            f'<Channel xmlns="{default}" xmlns:rdf="{rdf}"{declared} rdf:about="https://w.example">'
            f'{head}<items rdf:parseType="Collection">{"".join(items)}</items></Channel>'
        )
        return _xml_bytes(maker, body, lang), stories
    listed = "".join(f'<rdf:li rdf:resource="{p}"/>' for p in places)
    listed = f"<items><rdf:Seq>{listed}</rdf:Seq></items>" if version == "1.0" else ""
    about = ' rdf:about="https://wire.example/rdf"' if version == "1.0" else ""
    image = '<image rdf:resource="https://x.example/l.png"/>' if maker.yes("image") else ""
    body = (
        f'<rdf:RDF xmlns:rdf="{rdf}" xmlns="{default}"{declared}>'
        f"<channel{about}>{head}{image}{listed}</channel>"
        + maker.chance.choice(["", "\n"]).join(items)
        + "</rdf:RDF>"
    )
    if maker.yes("prefixed rss", 0.1) and version == "1.0":
        body = body.replace(f'xmlns="{default}"', f'xmlns:rss="{default}"')
        for name in ("channel", "item", "items", "title", "link", "description", "image"):
            for edge in (">", " "):
                body = body.replace(f"<{name}{edge}", f"<rss:{name}{edge}")
            body = body.replace(f"</{name}>", f"</rss:{name}>")
    return _xml_bytes(maker, body, lang), stories


# -- Atom --------------------------------------------------------------------------------------


def _atom_entry(maker: _Maker, story: Story, old: bool, p: str) -> tuple[str, Story]:
    kind = maker.one(
        "html", "xhtml", "text", "summary only", "xhtml prefixed", "html cdata", "both"
    )
    kind = (
        maker.one(kind, kind, kind, kind, "base64", "remote")
        if old
        else maker.one(
            kind, kind, kind, kind, "mime html", "remote", "media group", "xhtml without type"
        )
    )
    if old and kind == "html":
        kind = "escaped old"
    content = ""
    html = _paragraphs(maker, story)
    space = "http://www.w3.org/1999/xhtml"
    if kind == "html":
        content = _element(f"{p}content", escape(html), ' type="html"')
    elif kind == "html cdata":
        attributes = ' type="text/html" mode="escaped"' if old else ' type="html"'
        content = _element(f"{p}content", f"<![CDATA[{html}]]>", attributes)
    elif kind == "escaped old":
        content = _element(f"{p}content", escape(html), ' type="text/html" mode="escaped"')
    elif kind == "xhtml":
        attributes = ' type="application/xhtml+xml" mode="xml"' if old else ' type="xhtml"'
        content = _element(f"{p}content", f'<div xmlns="{space}">{_xhtml(story)}</div>', attributes)
    elif kind == "xhtml prefixed":
        attributes = ' type="application/xhtml+xml"' if old else ' type="xhtml"'
        content = _element(
            f"{p}content", f'<xh:div xmlns:xh="{space}">{_xhtml(story, "xh:")}</xh:div>', attributes
        )
    elif kind == "text":
        attributes = maker.chance.choice(["", ' type="text/plain"' if old else ' type="text"'])
        content = _element(f"{p}content", escape("\n\n".join(story.paragraphs)), attributes)
    elif kind == "base64":
        data = base64.b64encode(html.encode()).decode()
        content = _element(f"{p}content", data, ' type="text/html" mode="base64"')
    elif kind == "mime html":
        content = _element(f"{p}content", escape(html), ' type="text/html"')
    elif kind == "remote":
        content = _element(f"{p}summary", escape(" ".join(story.paragraphs))) + (
            f'<{p}content src="https://x.example/a.html" type="text/html"/>'
        )
    elif kind == "media group":
        content = (
            '<m:group xmlns:m="http://search.yahoo.com/mrss/"><m:title>Other</m:title>'
            f"<m:description>{escape(' '.join(story.paragraphs))}</m:description></m:group>"
        )
    elif kind == "xhtml without type":
        content = _element(f"{p}content", f'<div xmlns="{space}">{_xhtml(story)}</div>')
    elif kind == "summary only":
        attributes = ' type="text/html" mode="escaped"' if old else ' type="html"'
        content = _element(f"{p}summary", escape(html), attributes)
    else:
        content = _element(f"{p}summary", escape(story.paragraphs[0][:20])) + _element(
            f"{p}content",
            escape(html),
            ' type="text/html" mode="escaped"' if old else ' type="html"',
        )
    titled = maker.one("text title", "html title", "xhtml title", "empty title")
    if titled == "html title":
        attributes = ' type="text/html" mode="escaped"' if old else ' type="html"'
        title = _element(f"{p}title", escape(html_escape(story.title)), attributes)
    elif titled == "xhtml title" and not old:
        title = _element(
            f"{p}title", f'<div xmlns="{space}">{escape(story.title)}</div>', ' type="xhtml"'
        )
    elif titled == "empty title":
        title, story = (
            maker.chance.choice([f"<{p}title/>", f"<{p}title></{p}title>"]),
            replace(story, title=""),
        )
    else:
        title = _element(f"{p}title", escape(story.title))
    dates = (
        "<{0}issued>2026-03-02T06:15:00Z</{0}issued><{0}modified>2026-03-02T06:15:00Z</{0}modified>"
        if old else
        "<{0}published>2026-03-02T06:15:00+01:00</{0}published><{0}updated>2026-03-02T06:15:00.123Z</{0}updated>"
    ).format(p)  # fmt: skip
    relative = maker.yes("relative link")
    href = f"/news/{story.uid[6:]}" if relative else f"https://wire.example/{story.uid[6:]}"
    parts = [
        title, content, dates,
        _element(f"{p}id", escape(story.uid)),
        f'<{p}link rel="alternate" type="text/html" href="{href}"/>',
        f'<{p}link rel="enclosure" href="https://x.example/a.mp3"/>' if maker.yes("enclosure") else "",
        f"<{p}author><{p}name>Jane Roe</{p}name><{p}email>j@x.example</{p}email></{p}author>"
        if maker.yes("author") else "",
        f'<{p}category term="pol" scheme="https://x.example/c" label="Politics"/>',
        f"<{p}source><{p}id>urn:other</{p}id><{p}title>Other</{p}title><{p}updated>2026-01-01T00:00:00Z"
        f"</{p}updated></{p}source>" if maker.yes("source", 0.1) else "",
    ]  # fmt: skip
    return _in_order(maker, parts), story


def _atom(maker: _Maker) -> tuple[bytes, list[Story]]:
    lang = maker.lang()
    old = maker.yes("Atom 0.3", 0.2)
    space = "http://purl.org/atom/ns#" if old else "http://www.w3.org/2005/Atom"
    p = maker.one("", "", "", "a:", "atom:")
    colon = f":{p[:-1]}" if p else ""
    base = ' xml:base="https://wire.example/"' if maker.yes("xml:base") else ""
    attributes = f' xmlns{colon}="{space}" xml:lang="{lang}"{base}'
    attributes += ' version="0.3"' if old else ""
    if maker.yes("single entry", 0.1) and not old:
        entry, story = _atom_entry(maker, maker.story(lang), old, p)
        return _xml_bytes(maker, f"<{p}entry{attributes}>{entry}</{p}entry>", lang), [story]
    entries, stories = [], []
    for story in maker.stories(lang):
        entry, told = _atom_entry(maker, story, old, p)
        own = f' xml:lang="{lang}"' if maker.yes("lang of entry", 0.2) else ""
        entries.append(f"<{p}entry{own}>{entry}</{p}entry>")
        stories.append(told)
    head = (
        f"<{p}title>The wire</{p}title><{p}id>urn:x:feed</{p}id>"
        f'<{p}link rel="self" href="https://wire.example/atom"/>'
    )
    if maker.yes("generator"):
        head += f'<{p}generator uri="https://x.example" version="1">CMS</{p}generator>'
    body = f"<{p}feed{attributes}>{head}{''.join(entries)}</{p}feed>"
    return _xml_bytes(maker, body, lang), stories


# -- JSON ----------------------------------------------------------------------------------


def _json_bytes(maker: _Maker, value: object) -> bytes:
    style = maker.one("compact", "indented", "ascii", "tabs")
    encoding = maker.one("utf-8", "utf-8", "utf-8", "utf-8-sig", "utf-16")
    indent: int | str | None = {"indented": 2, "tabs": "\t"}.get(style)
    text = json.dumps(value, ensure_ascii=style == "ascii", indent=indent)
    if maker.yes("CRLF", 0.1):
        text = text.replace("\n", "\r\n")
    if maker.yes("escaped slashes", 0.2):
        text = text.replace("/", "\\/")
    return text.encode(encoding)


def _json_feed(maker: _Maker) -> tuple[bytes, list[Story]]:
    lang = maker.lang()
    items, stories = [], []
    for story in maker.stories(lang):
        item: dict[str, object] = {"id": story.uid, "url": f"https://wire.example/{story.uid[6:]}"}
        if maker.yes("numeric id", 0.1):
            item["id"] = maker.chance.getrandbits(30)
        shape = maker.one("html", "text", "both", "summary", "no title")
        if shape == "no title":
            story = replace(story, title="")
        else:
            item["title"] = story.title
        if shape in ("html", "both", "no title"):
            item["content_html"] = _paragraphs(maker, story)
        if shape in ("text", "both"):
            item["content_text"] = "\n\n".join(story.paragraphs)
        if shape == "summary":
            item["summary"] = " ".join(story.paragraphs)
        if maker.yes("dates", 0.7):
            item["date_published"] = "2026-03-02T06:15:00-05:00"
        if maker.yes("extension", 0.2):
            item["_blue_shed"] = {"explicit": False, "copyright": "1948"}
        if maker.yes("tags"):
            item["tags"] = ["a", "b"]
        if maker.yes("nulls", 0.2):
            item |= {"image": None, "banner_image": None, "author": None}
        items.append(item)
        stories.append(story)
    number = maker.one("1", "1.1")
    feed: dict[str, object] = {
        "version": f"https://jsonfeed.org/version/{number}",
        "title": "Wire",
        "home_page_url": "https://wire.example/",
        "items": items,
    }
    if maker.yes("version last", 0.15):
        feed["version"] = feed.pop("version")
    if number == "1.1":
        feed["language"] = lang
    return _json_bytes(maker, feed), stories


def _ninjs(maker: _Maker) -> tuple[bytes, list[Story]]:
    lang = maker.lang()
    version = maker.one("1.0", "1.3", "2.0", "2.1", "3.0")
    made = [_ninjs_item(maker, story, version, lang) for story in maker.stories(lang, 4)]
    items, stories = [item for item, _ in made], [story for _, story in made]
    shape = maker.one("object", "list", "lines", "answer", "deep answer", "hits")
    if shape == "object":
        return _json_bytes(maker, items[0]), stories[:1]
    if shape == "list":
        return _json_bytes(maker, items), stories
    if shape == "lines":
        return "\n".join(json.dumps(i, ensure_ascii=False) for i in items).encode(), stories
    if shape == "answer":
        return _json_bytes(maker, {"total": len(items), "offset": 0, "_items": items}), stories
    if shape == "hits":
        answer = {"api_version": "1.1", "data": {"items": [{"meta": {}, "item": i} for i in items]}}
        return _json_bytes(maker, answer), stories
    return _json_bytes(maker, {"id": "q1", "data": {"meta": {}, "item": items[0]}}), stories[:1]


def _ninjs_item(
    maker: _Maker, story: Story, version: str, lang: str
) -> tuple[dict[str, object], Story]:
    item: dict[str, object] = {
        "uri": story.uid,
        "type": "text",
        "versioncreated": "2026-03-02T06:15:00Z",
        "language": lang,
        "urgency": 4,
        "pubstatus": "usable",
    }
    html = _paragraphs(maker, story)
    text = "\n\n".join(story.paragraphs)
    if version.startswith("3"):
        item["standard"] = {"name": "ninjs", "version": version}
        item["headlines"] = [{"value": story.title}, {"role": "short", "value": "Short"}]
        item["bodies"] = [
            {"role": "main", "contentType": "text/html", "charcount": 9, "value": html},
            {"contentType": "text/plain", "value": text},
        ][: maker.chance.randint(1, 2)]
        item["descriptions"] = [{"role": "summary", "value": "Short"}]
        item["subjects"] = [{"uri": "medtop:1", "name": "Politics"}]
    else:
        item["headline"] = story.title
        shape = maker.one("xhtml", "html", "text", "both", "bodies")
        if shape == "bodies" and version.startswith("2"):
            item["bodies"] = [{"contenttype": "text/html", "value": html}]
        elif shape in ("xhtml", "bodies"):
            item["body_xhtml"] = html
        elif shape == "html":
            item["body_html"] = html
        elif shape == "text":
            item["body_text"] = text
        else:
            item |= {"body_text": text, "body_xhtml": html}
        item["subject"] = [{"code": "medtop:1", "name": "Politics"}]
    picture = {"uri": "urn:pic:1", "type": "picture", "headline": "Picture", "renditions": {}}
    if maker.yes("associations"):
        item["associations"] = (
            [picture | {"name": "main"}] if version.startswith("3") else {"main": picture}
        )
    if maker.yes("nulls", 0.2):
        item |= {"byline": None, "place": None, "slugline": None}
    return item, story


# -- NewsML and NITF -----------------------------------------------------------------------


def _nitf_element(maker: _Maker, story: Story, declared: str = "") -> str:
    version = maker.one("2.5", "3.0", "3.2", "3.4", "3.6")
    namespace = (
        ' xmlns="http://iptc.org/std/NITF/2006-10-18/"' if maker.yes("NITF namespace", 0.2) else ""
    )
    headline = maker.one("hl1", "hedline", "hl1 and hl2", "title only", "lang in hl1")
    marked = {
        "hl1": f"<hedline><hl1>{escape(story.title)}</hl1></hedline>",
        "hedline": f"<hedline>{escape(story.title)}</hedline>",
        "hl1 and hl2": f"<hedline><hl1 id='h'>{escape(story.title)}</hl1><hl2>More</hl2></hedline>",
        "title only": "",
        "lang in hl1": f'<hedline><hl1><lang iso="{story.lang}">{escape(story.title)}</lang></hl1></hedline>',
    }[headline]
    shape = maker.one("p", "block", "p lede", "marked", "pre", "table", "breaks", "bare")
    paragraphs = [escape(p) for p in story.paragraphs]
    if shape == "block":
        text = f"<block>{''.join(f'<p>{p}</p>' for p in paragraphs)}</block>"
    elif shape == "p lede":
        text = "".join(f'<p lede="true">\n\t{p}\n</p>' for p in paragraphs)
    elif shape == "marked":
        text = "".join(f"<p><person>Jane Roe</person>, <em>aside</em>: {p}</p>" for p in paragraphs)
    elif shape == "pre":
        text = f"<pre>{'&#10;&#10;'.join(paragraphs)}</pre>"
    elif shape == "table":
        text = "".join(f"<p>{p}</p>" for p in paragraphs)
        text += "<table><tr><th>Team</th><td>3</td></tr></table>"
    elif shape == "breaks":
        text = "<p>" + "<br/>".join(paragraphs) + "</p>"
    elif shape == "bare":
        text = (
            "\n\n".join(paragraphs) if version != "2.5" else f"<p>{'</p><p>'.join(paragraphs)}</p>"
        )
    else:
        text = "".join(f"<p>{p}</p>\n" for p in paragraphs)
    media = (
        '<media media-type="image"><media-reference mime-type="image/jpeg" source="a.jpg"/>'
        "<media-caption><p>A picture</p></media-caption></media>"
        if maker.yes("media") else ""
    )  # fmt: skip
    dateline = (
        "<dateline><location><city>Paris</city></location>, "
        '<story.date norm="20260302T061500Z">Mar 2</story.date></dateline>'
    )
    title = f"<title>{escape(story.title)}</title>" if not marked or maker.yes("title") else ""
    return (
        f'<nitf{namespace}{declared} version="-//IPTC//DTD NITF {version}//EN">'
        f'<head>{title}<meta name="a" content="b"/><docdata management-status="usable">'
        f'<doc-id id-string="{story.uid}" regsrc="X"/><urgency ed-urg="4"/>'
        '<date.issue norm="20260302T061500+0100"/></docdata></head>'
        f"<body><body.head>{marked}<byline>By <person>Jane</person></byline>{dateline}</body.head>"
        f"<body.content>{media}{text}</body.content><body.end><tagline>ends</tagline></body.end>"
        "</body></nitf>"
    )


def _nitf(maker: _Maker) -> tuple[bytes, list[Story]]:
    lang = maker.lang()
    doctype = maker.one(
        "", "", '<!DOCTYPE nitf SYSTEM "nitf-3-4.dtd">',
        '<!DOCTYPE nitf PUBLIC "-//IPTC//DTD NITF 3.2//EN" "http://www.nitf.org/nitf-3-2.dtd">',
        '<!DOCTYPE nitf SYSTEM "nitf-2-5.dtd" [<!ENTITY mdash "&#8212;">]>',
    )  # fmt: skip
    story = maker.story(lang)
    return _xml_bytes(maker, _nitf_element(maker, story), lang, doctype), [story]


_G2 = "http://iptc.org/std/nar/2006-10-01/"


def _g2_item(maker: _Maker, story: Story, p: str, namespace: str) -> str:
    shape = maker.one(
        "xhtml", "nitf", "plain", "html data", "tagged plain", "several", "xhtml prefixed"
    )
    space = "http://www.w3.org/1999/xhtml"
    page = (
        f'<html xmlns="{space}"><head><title>{escape(story.title)}</title></head>'
        f"<body>{_xhtml(story)}</body></html>"
    )
    remote = (
        f'<{p}remoteContent href="https://x.example/a.jpg" contenttype="image/jpeg" '
        'rendition="rnd:highRes"/>'
    )
    plain = escape("\n\n".join(story.paragraphs))
    inline = {
        "xhtml": f'<{p}inlineXML contenttype="application/xhtml+xml">{page}</{p}inlineXML>',
        "nitf": f'<{p}inlineXML contenttype="application/nitf+xml">{_nitf_element(maker, story)}</{p}inlineXML>',
        "plain": f'<{p}inlineData contenttype="text/plain">{plain}</{p}inlineData>',
        "html data": f'<{p}inlineData contenttype="text/html"><![CDATA[{_paragraphs(maker, story)}]]></{p}inlineData>',
        "tagged plain": f'<{p}inlineData contenttype="text/plain"><![CDATA[<p>{html_escape("</p><p>").join(())}'
                        f'{"</p><p>".join(html_escape(x) for x in story.paragraphs)}</p>]]></{p}inlineData>',
        "several": f'{remote}<{p}inlineData contenttype="text/plain">Short</{p}inlineData>'
                   f'<{p}inlineXML contenttype="application/xhtml+xml">{page}</{p}inlineXML>',
        "xhtml prefixed": f'<{p}inlineXML><h:html xmlns:h="{space}"><h:head><h:title/></h:head><h:body>'
                          f'{_xhtml(story, "h:")}</h:body></h:html></{p}inlineXML>',
    }[shape]  # fmt: skip
    headline = maker.one("headline", "role", "br", "title of item", "two headlines")
    given = escape(story.title)
    told = {
        "headline": f"<{p}headline>{given}</{p}headline>",
        "role": f'<{p}headline xml:lang="{story.lang}" role="hl:main">\n {given} </{p}headline>',
        "br": f"<{p}headline dir='ltr'>{given}</{p}headline><{p}slugline>SLUG/X</{p}slugline>",
        "title of item": "",
        "two headlines": f"<{p}headline>{given}</{p}headline><{p}headline role='hld:sub'>Sub</{p}headline>",
    }[headline]
    titled = f"<{p}title>{given}</{p}title>" if not told else ""
    description = (
        f"<{p}description role='drol:summary'>Short one.</{p}description>"
        if maker.yes("summary")
        else ""
    )
    return (
        f'<{p}newsItem{namespace} guid="{story.uid}" version="1" standard="NewsML-G2" '
        f'standardversion="2.{maker.chance.randint(1, 33)}" conformance="power" xml:lang="{story.lang}">'
        f'<{p}catalogRef href="http://www.iptc.org/std/catalog/catalog.IPTC-G2-Standards_30.xml"/>'
        f'<{p}rightsInfo><{p}copyrightHolder literal="X"><{p}name>Agency X</{p}name></{p}copyrightHolder></{p}rightsInfo>'
        f'<{p}itemMeta><{p}itemClass qcode="ninat:text"/><{p}provider qcode="nprov:X"/>'
        f"<{p}versionCreated>2026-03-02T06:15:00+01:00</{p}versionCreated>"
        f'<{p}pubStatus qcode="stat:usable"/>{titled}</{p}itemMeta>'
        f'<{p}contentMeta><{p}urgency>4</{p}urgency><{p}language tag="{story.lang}"/>'
        f'<{p}subject type="cpnat:abstract" qcode="medtop:1"><{p}name>Politics</{p}name></{p}subject>'
        f"{told}{description}</{p}contentMeta>"
        f"<{p}contentSet>{inline}{remote if maker.yes('remote', 0.2) else ''}</{p}contentSet></{p}newsItem>"
    )


def _newsml_g2(maker: _Maker) -> tuple[bytes, list[Story]]:
    lang = maker.lang()
    p = maker.one("", "", "", "nar:", "ns0:")
    declared = f' xmlns{":" + p[:-1] if p else ""}="{_G2}"'
    if maker.yes("single item", 0.4):
        story = maker.story(lang)
        return _xml_bytes(maker, _g2_item(maker, story, p, declared), lang), [story]
    stories = maker.stories(lang, 4)
    items = [_g2_item(maker, story, p, "") for story in stories]
    if maker.yes("package"):
        package = (
            f'<{p}packageItem guid="urn:pkg" version="1"><{p}itemMeta><{p}versionCreated>2026-03-02T06:15:00Z'
            f'</{p}versionCreated></{p}itemMeta><{p}groupSet root="g"><{p}group id="g" role="group:main">'
            f'<{p}itemRef residref="{stories[0].uid}"><{p}title>Lead</{p}title></{p}itemRef></{p}group>'
            f"</{p}groupSet></{p}packageItem>"
        )
        items.insert(maker.chance.randint(0, len(items)), package)
    if maker.yes("concept", 0.15):
        concept = (
            f'<{p}conceptItem guid="urn:con" version="1"><{p}concept><{p}conceptId qcode="a:b"/>'
            f"<{p}name>Thing</{p}name></{p}concept></{p}conceptItem>"
        )
        items.append(concept)
        items.append(concept.replace("conceptItem", "knowledgeItem"))
    header = (
        f"<{p}header><{p}sent>2026-03-02T06:15:00Z</{p}sent><{p}sender>X</{p}sender></{p}header>"
    )
    body = f"<{p}newsMessage{declared}>{header}<{p}itemSet>{''.join(items)}</{p}itemSet></{p}newsMessage>"
    return _xml_bytes(maker, body, lang), stories


def _newsml_1(maker: _Maker) -> tuple[bytes, list[Story]]:
    lang = maker.lang()
    stories = maker.stories(lang, 3)
    items = []
    for number, story in enumerate(stories):
        shape = maker.one("nitf", "paragraphs", "plain", "cdata html", "nested", "body element")
        given = escape(story.title)
        data = {
            "nitf": _nitf_element(maker, story) if shape == "nitf" else "",
            "paragraphs": "".join(f"<p>{escape(p)}</p>" for p in story.paragraphs),
            "plain": escape("\n\n".join(story.paragraphs)),
            "cdata html": f"<![CDATA[{''.join(f'<p>{html_escape(p)}</p>' for p in story.paragraphs)}]]>",
            "nested": "".join(f"<p>{escape(p)}</p>" for p in story.paragraphs),
            "body element": f"<html><head><title>x</title></head><body>{_xhtml(story)}</body></html>",
        }[shape]
        mime = '<MimeType FormalName="text/html"/>' if shape == "cdata html" else ""
        content = (
            f'<ContentItem><MediaType FormalName="Text"/><Format FormalName="{shape}"/>{mime}'
            f"<DataContent>{data}</DataContent></ContentItem>"
        )
        lines = f"<NewsLines><HeadLine>{given}</HeadLine><ByLine>Jane</ByLine><DateLine>Paris, 2 mars</DateLine></NewsLines>"
        described = f'<DescriptiveMetadata><Language FormalName="{lang}"/></DescriptiveMetadata>'
        if shape == "nested":
            picture = (
                '<NewsComponent><Role FormalName="Caption"/><ContentItem><MediaType FormalName="Text"/>'
                "<DataContent><p>A picture</p></DataContent></ContentItem></NewsComponent>"
            )
            content = f'<NewsComponent><Role FormalName="Main"/>{content}</NewsComponent>{picture}'
        component = f"<NewsComponent>{lines}{described}{content}</NewsComponent>"
        items.append(
            f'<NewsItem xml:lang="{lang}"><Identification><NewsIdentifier><ProviderId>x.example</ProviderId>'
            f"<DateId>20260302</DateId><NewsItemId>N{number}{maker.chance.getrandbits(20)}</NewsItemId>"
            '<RevisionId PreviousRevision="0" Update="N">1</RevisionId>'
            "<PublicIdentifier>urn:newsml:x.example:20260302:N:1N</PublicIdentifier></NewsIdentifier>"
            '</Identification><NewsManagement><NewsItemType FormalName="News"/>'
            "<FirstCreated>20260302T061500Z</FirstCreated><ThisRevisionCreated>20260302T061500Z"
            '</ThisRevisionCreated><Status FormalName="Usable"/></NewsManagement>'
            f"{component}</NewsItem>"
        )
    version = maker.one("", ' Version="1.0"', ' Version="1.1"', ' Version="1.2"')
    doctype = maker.one(
        "", '<!DOCTYPE NewsML SYSTEM "http://www.iptc.org/NewsML/DTD/NewsML_1.2.dtd">',
        '<!DOCTYPE NewsML PUBLIC "urn:newsml:iptc.org:20021018:NewsMLv1.2:1" "NewsML_1.2.dtd" [\n'
        '<!ENTITY % nitf SYSTEM "nitf-3-0.dtd">\n%nitf;\n]>',
    )  # fmt: skip
    body = (
        f"<NewsML{version}><Catalog Href='x'/><NewsEnvelope><DateAndTime>20260302T061500Z</DateAndTime>"
        f"</NewsEnvelope>{''.join(items)}</NewsML>"
    )
    return _xml_bytes(maker, body, lang, doctype), stories


# -- wire text -----------------------------------------------------------------------------


def _wire_lines(maker: _Maker, story: Story) -> list[str]:
    """The text in lines of some width."""
    width = maker.chance.choice([60, 69, 78])
    indent = maker.chance.choice(["   ", "    ", "\t"])
    blank = maker.yes("blank lines", 0.5)
    lines: list[str] = []
    for number, paragraph in enumerate(story.paragraphs):
        text = f"PARIS, March 2 (XYZ) - {paragraph}" if number == 0 else paragraph
        wrapped = textwrap.wrap(text, width, break_on_hyphens=False)
        lines += [indent + wrapped[0], *wrapped[1:], *([""] if blank else [])]
    return lines


def _anpa(maker: _Maker) -> tuple[bytes, list[Story]]:
    lang = maker.chance.choice(["en", "fr"])
    style = maker.one("iptc", "iptc", "anpa", "zczc", "ap")
    stories = [
        replace(s, title=s.title.replace("(", "").replace(")", "")) for s in maker.stories(lang, 4)
    ]
    framed = maker.yes("control characters", 0.6) or style == "zczc"
    padded = "\x16\x16" if framed and maker.yes("SYN", 0.3) else ""
    trailer = maker.one("date", "date", "no date")
    if not framed:
        trailer = "date"
    messages = []
    for number, story in enumerate(stories):
        count = 100 + maker.chance.randint(0, 800)
        body = _wire_lines(maker, story)
        if style == "ap":
            top = [f"a{count:04d}----", f"r i BC-Slug-Line{number}   03-02 0{count}"]
            text = [f"^BC-Slug-Line{number},{count}<", f"^{story.title}<", "^By JANE ROE=", "^XYZ Writer=",
                    *("\t" + line.strip() if line.startswith(("   ", "\t")) else line for line in body)]  # fmt: skip
            closing = ["", "XYZ-WF-03-02-26 0615GMT<"]
        elif style == "anpa":
            top = [f"a{count:04d} {maker.chance.choice(['', 'ZYX-', '----'])}".rstrip(),
                   f"u i BC-Slug-{number}  03-02  {count}"]  # fmt: skip
            text = [story.title, "", *body]
            closing = ["XYZ-NY-03-02-26 0615EST"]
        elif style == "zczc":
            top = [f"ZCZC XYZ{count}"]
            text = [story.title, "", *body]
            closing = ["XYZ 020615 GMT MAR 26"]
        else:
            top = [
                f"xyz{count:04d} 4 pol 0{count} {maker.chance.choice(['XYZ', 'FRA /XYZ-AB12', ''])}".rstrip()
            ]
            text = ["Politics-budget", story.title, "", *body]
            closing = ["XYZ 020615 GMT MAR 26"]
        closing = [] if trailer == "no date" else closing
        if framed and style != "zczc":
            top[0] = f"{padded}\x01{top[0]}"
            text[0] = "\x02" + text[0]
            closing = (
                [*closing, "\x03"]
                if maker.yes("ETX alone", 0.5)
                else [*closing[:-1], (closing or [""])[-1] + "\x03"]
            )
        elif style == "zczc":
            closing.append("NNNN")
        messages.append([*top, *text, *closing])
    if framed and maker.yes("no trailer of the last", 0.1):
        messages[-1] = [line.replace("\x03", "") for line in messages[-1] if line != "NNNN"]
    ending = maker.chance.choice(["\r\n", "\n", "\r", "\r\n"])
    text_of_file = ending.join(line for message in messages for line in [*message, ""])
    encoding = maker.one("utf-8", "windows-1252", "iso-8859-15")
    return text_of_file.encode(encoding, "ignore") if encoding == "utf-8" else _narrow(text_of_file).encode(
        encoding, "replace"), [_narrowed(s) if encoding != "utf-8" else s for s in stories]  # fmt: skip


def _narrow(text: str) -> str:
    """As an old wire writes it."""
    pairs = {"’": "'", "‘": "'", "–": "-", "€": "EUR", "œ": "oe", "Œ": "OE", "…": "..."}
    return "".join(pairs.get(c, c) for c in text)


def _narrowed(story: Story) -> Story:
    return replace(
        story, title=_narrow(story.title), paragraphs=tuple(_narrow(p) for p in story.paragraphs)
    )


# -- the corpus ----------------------------------------------------------------------------

_KINDS: dict[str, tuple[str, int, Callable[[_Maker], tuple[bytes, list[Story]]]]] = {
    "rss": ("feed", 5, _rss),
    "rdf": ("feed", 2, _rdf),
    "atom": ("feed", 4, _atom),
    "jsonfeed": ("feed", 2, _json_feed),
    "ninjs": ("ninjs", 3, _ninjs),
    "nitf": ("nitf", 3, _nitf),
    "newsml-g2": ("newsml", 4, _newsml_g2),
    "newsml-1": ("newsml", 2, _newsml_1),
    "anpa": ("anpa", 4, _anpa),
}


def corpus(seed: int, n_files: int) -> Iterator[Made]:
    """So many well-formed files, of every kind in turn."""
    turn = [name for name, (_, weight, _) in _KINDS.items() for _ in range(weight)]
    for number in range(n_files):
        kind = turn[number % len(turn)]
        source, _, make = _KINDS[kind]
        maker = _Maker(seed * 1_000_003 + number)
        data, stories = make(maker)
        yield Made(f"{kind}-{number}", source, data, tuple(stories), tuple(maker.habits))


@dataclass
class Found:
    """A document as far as it matters here."""

    title: str
    body: str
    left: bool = field(default=True)


def _plain(text: str) -> str:
    return "".join(text.split()).replace("\xa0", "")


def missing(made: Made, found: Sequence[tuple[str, str]]) -> list[str]:
    """What a reader that found these titles and bodies missed, in words; nothing if all is there."""
    wrong: list[str] = []
    if len(found) != len(made.stories):
        wrong.append(f"{len(found)} documents for {len(made.stories)} stories")
    for story, (title, body) in zip(made.stories, found, strict=False):
        if story.title and " ".join(title.split()) != " ".join(story.title.split()):
            wrong.append(f"title {title[:80]!r}, wanted {story.title!r}")
        whole = _plain(body)
        for paragraph in story.paragraphs:
            if _plain(paragraph) not in whole:
                wrong.append(f"text {body[:200]!r}, wanted {paragraph!r}")
        if "</p>" in body or "CDATA" in body or "&lt;" in body or "&amp;" in body:
            wrong.append(f"markup in the text: {body[:200]!r}")
    return wrong


def broken(data: bytes, chance: random.Random, others: Sequence[bytes] = ()) -> bytes:
    """The same file after an accident or two."""
    damaged = bytearray(data)
    for _ in range(chance.randint(1, 3)):
        size = len(damaged)
        kind = chance.randrange(10)
        place = chance.randrange(size + 1)
        if kind == 0:
            del damaged[place:]
        elif kind == 1:
            del damaged[place : place + chance.randint(1, 400)]
        elif kind == 2 and size:
            damaged[min(place, size - 1)] = chance.randrange(256)
        elif kind == 3:
            damaged[place:place] = bytes(
                chance.randrange(256) for _ in range(chance.randint(1, 40))
            )
        elif kind == 4:
            piece = damaged[place : place + chance.randint(1, 800)]
            damaged[place:place] = piece * chance.randint(1, 20)
        elif kind == 5:
            damaged[place:place] = chance.choice(
                [b"<", b"&", b"]]>", b"<![CDATA[", b"<!--", b"-->", b"\0" * 9, b"<item>", b"</item>",
                 b"<!DOCTYPE x [<!ENTITY a 'b'>]>", b"&a;", b"{", b"[" * 50, b'"', b"\x01", b"\x03",
                 b"</entry>", b"<newsItem>", b"&#0;", b"&#xFFFFFFFF;", b"\xff\xfe", b"\xed\xa0\x80"]
            )  # fmt: skip
        elif kind == 6 and others:
            other = chance.choice(others)
            damaged[place:] = other[chance.randrange(len(other) + 1) :]
        elif kind == 7:
            damaged = bytearray(bytes(damaged).replace(b">", b"", chance.randint(1, 5)))
        elif kind == 8:
            damaged = bytearray(bytes(damaged).replace(b'"', b"", chance.randint(1, 5)))
        else:
            first = chance.randrange(size + 1)
            del damaged[:first]
    return bytes(damaged)
