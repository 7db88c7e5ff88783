"""The application as a whole: every page, the data behind charts, errors, tags, no heavy imports."""

from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from segapsith.api.wire import Wire
from segapsith.web import texts
from segapsith.web.texts import catalogue

PAGES = (
    "/", "/?since=1", "/sections", "/sections/1", "/events", "/events?min_stories=1", "/topics", "/topics/1", "/domains", "/domains?sort=recent&lang=en&min_units=2",
    "/domains?as_of=1", "/domains/1", "/domains/1?as_of=1", "/units/1", "/search", "/search?q=the",
    "/words/en/rate", "/timeline", "/timeline?by=month&measure=share&domain=1", "/compare",
    "/compare?left=1&right=2", "/validation", "/validation?verdict=split", "/map", "/map?lang=fr",
    "/runs", "/feeds", "/watch", "/cite",
)  # fmt: skip
LINK = re.compile(r'(?:href|action)="([^"]+)"')


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("language", ["en", "fr"])
def test_every_page_is_shown_in_both_languages(
    client: TestClient, path: str, language: str
) -> None:
    answer = client.get(path, headers={"accept-language": language})
    assert answer.status_code == 200, answer.text
    assert f'<html lang="{language}">' in answer.text
    assert len(answer.content) < 80_000
    assert " style=" not in answer.text and "<script>" not in answer.text


class Shown(HTMLParser):
    """The texts of a page and of its attributes, but for links to words of stories."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._of_a_word = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._of_a_word = tag == "a" and "/words/" in (dict(attrs).get("href") or "")
        self.texts += [v or "" for n, v in attrs if n in ("aria-label", "title", "placeholder")]

    def handle_data(self, data: str) -> None:
        if not self._of_a_word:
            self.texts.append(" ".join(data.split()))

    def handle_endtag(self, _: str) -> None:
        self._of_a_word = False


@pytest.mark.parametrize("path", PAGES)
def test_a_french_page_shows_no_english_text_of_the_interface(
    client: TestClient, shown_path: Path, path: str
) -> None:
    """Names of commands, as in the list of runs, are the same in every language."""
    page = Shown()
    page.feed(client.get(path, headers={"accept-language": "fr"}).text)
    french = set(catalogue().values())
    english = {text for text in catalogue() if text not in french}
    commands = {run.command for run in Wire(shown_path).runs()} if path == "/runs" else set()
    assert english & set(page.texts) - commands == set()


def test_no_template_has_a_text_outside_of_the_catalogue() -> None:
    """What is left of a template without its expressions and elements has no word."""
    own = {"SEGAPSITH", "BibTeX", "Atom", "CSV", "JSON", "SVG", "kappa", "p", "ARI", "NMI"}
    for path in (Path(texts.__file__).parent / "templates").glob("*.html"):
        source = re.sub(r"<pre.*?</pre>", " ", path.read_text("utf-8"), flags=re.DOTALL)
        source = re.sub(r"{#.*?#}|{%.*?%}|{{.*?}}", " ", source, flags=re.DOTALL)
        words = set(re.findall(r"[^\W\d_]{2,}", re.sub(r"<[^>]*>", " ", source)))
        assert words <= own, (path.name, words - own)
        spoken = re.findall(r'(?:aria-label|title|placeholder|alt)="([^"]*)"', source)
        assert not [text for text in spoken if re.search(r"[^\W\d_]{2,}", text)], path.name


def test_every_link_of_every_page_leads_somewhere(client: TestClient) -> None:
    seen: set[str] = set()
    for path in PAGES:
        for address in LINK.findall(client.get(path).text):
            seen.add(address.replace("&amp;", "&").replace("&#39;", "'").partition("#")[0])
    outside = {address for address in seen if not address.startswith("/")}
    assert outside <= {""}
    kinds: dict[str, list[str]] = {}
    for address in sorted(seen - {""}):
        kinds.setdefault(re.sub(r"\d+|%[0-9A-F]{2}", "#", address.partition("?")[0]), []).append(
            address
        )
    for addresses in kinds.values():
        for address in addresses[:3]:
            status = client.get(address).status_code
            assert status == 200 or (status == 405 and address.startswith("/watch")), address


def test_behind_every_chart_are_its_files(client: TestClient) -> None:
    files = {
        address.replace("&amp;", "&")
        for path in PAGES
        for address in LINK.findall(client.get(path).text)
        if re.search(r"/\w+\.(csv|json|svg)(\?|$)", address) and "/api/" not in address
    } - {"/static/icon.svg"}
    files = {address for address in files if not address.startswith("/static/")}
    assert len({address.partition("?")[0] for address in files}) >= 15
    for address in sorted(files):
        answer = client.get(address)
        assert answer.status_code == 200, address
        ending = address.partition("?")[0].rpartition(".")[2]
        assert ending in answer.headers["content-type"], address
        if ending == "svg":
            assert "sha256-" in answer.headers["content-security-policy"]


def test_what_is_not_there_is_reported_as_such(client: TestClient) -> None:
    for path in ("/nothing", "/domains/99999", "/topics/99999", "/stories/x", "/units/99999",
                 "/words/en/xyzzy", "/domains/x", "/map/nothing.csv", "/map/map.exe", "/static/x"):  # fmt: skip
        assert client.get(path).status_code == 404, path
    for path in ("/domains?sort=x", "/search?since=x", "/timeline?by=x", "/domains?min_units=0",
                 "/domains?limit=100000", "/domains?as_of=x", "/domains?as_of=999", "/compare?left=x",
                 f"/search?q={'x' * 600}", "/domains?page=0"):  # fmt: skip
        assert client.get(path).status_code == 400, path


def test_a_page_that_the_browser_has_is_not_sent_again(client: TestClient) -> None:
    for path in ("/domains", "/api/v1/domains", "/map/map.csv", "/feeds/new.atom"):
        first = client.get(path)
        again = client.get(path, headers={"if-none-match": first.headers["etag"]})
        assert (again.status_code, again.content) == (304, b""), path
        other = client.get(path, headers={"if-none-match": '"x"'})
        assert other.status_code == 200
    assert client.head("/domains").status_code == 200


def test_files_of_the_pages_are_small_and_kept(client: TestClient) -> None:
    page = client.get("/").text
    sizes = {}
    for name in ("style.css", "app.js"):
        address = re.search(rf'"(/static/{re.escape(name)}\?v=\w+)"', page)
        assert address is not None
        answer = client.get(address.group(1))
        sizes[name] = len(answer.content)
        assert "immutable" in answer.headers["cache-control"]
    assert sizes["app.js"] <= 10_000 and sum(sizes.values()) <= 40_000


def test_the_language_is_remembered(client: TestClient) -> None:
    assert "Domaines" in client.get("/domains?ui=fr").text
    assert "Domaines" in client.get("/domains").text
    assert '<html lang="en">' in client.get("/domains?ui=en").text


def test_reading_imports_no_compiler(shown_path: Path) -> None:
    code = f"""
import sys
from starlette.testclient import TestClient
from segapsith import web
client = TestClient(web.app({str(shown_path)!r}, token="t" * 20), "http://127.0.0.1",
                    headers={{"authorization": "Bearer " + "t" * 20}})
for path in {PAGES!r}:
    assert client.get(path).status_code == 200, path
print(sorted(m for m in ("numba", "pandas", "spacy", "sklearn") if m in sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
