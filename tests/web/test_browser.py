"""The pages in a real browser: every page, by clicking and by keyboard, and hostile texts."""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from segapsith import web
from segapsith.api.wire import Wire
from segapsith.web.serving import bound
from segapsith.web.texts import Texts

webdriver = pytest.importorskip("selenium.webdriver")
By = pytest.importorskip("selenium.webdriver.common.by").By
Keys = pytest.importorskip("selenium.webdriver.common.keys").Keys

BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
AXE = Path(__file__).parents[1] / "third_party" / "axe" / "axe.min.js"
TOKEN = "a-token-for-the-tests"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (BROWSER and DRIVER), reason="no chromium and chromedriver"),
]

PAGES = (
    "/", "/sections", "/sections/1", "/topics", "/topics/1", "/domains", "/domains/1", "/events",
    "/stories/en-1", "/stories/en-7", "/units/1", "/domains/1?as_of=1", "/search", "/search?q=the", "/words/en/rate", "/timeline", "/compare", "/validation",
    "/map", "/runs", "/feeds", "/watch", "/cite", "/domains/1/merge/preview?with=2",
    "/domains/1/split/preview?parts=2", "/nothing",
)  # fmt: skip

COLOURS_ONLY = ((360, "light"), (1300, "dark"))


@contextlib.contextmanager
def serving(path: Path, **options: Any) -> Iterator[str]:
    """The application on a free port, in a thread."""
    import uvicorn

    listener = bound("127.0.0.1", 0)
    application = web.app(path, token=TOKEN, wait_seconds=0.2, **options)
    config = uvicorn.Config(application, log_level="error", access_log=False, lifespan="off")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(20)
        listener.close()


@pytest.fixture(scope="module")
def window() -> Iterator[Any]:
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for argument in (
        "headless=new",
        "no-sandbox",
        "disable-gpu",
        "disable-dev-shm-usage",
        "lang=en",
    ):
        options.add_argument(f"--{argument}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    service = webdriver.ChromeService(DRIVER, env={**os.environ, "LANG": "en_US.UTF-8"})
    browser = webdriver.Chrome(options=options, service=service)
    yield browser
    browser.quit()


@pytest.fixture
def shown(window: Any, large_path: Path) -> Iterator[Callable[[str], Any]]:
    """Opens a page of the application on 2,000 stories, with its forms; no test sends one."""
    yield from opened(window, large_path, allow_changes=True)


@pytest.fixture
def changed_path(large_path: Path, tmp_path: Path) -> Path:
    """The path of a copy of the store of 2,000 stories that a test may change."""
    return Path(shutil.copy(large_path, tmp_path / "changed.db"))


@pytest.fixture
def steered(window: Any, changed_path: Path) -> Iterator[Callable[[str], Any]]:
    """Opens a page of the application that may be changed."""
    yield from opened(window, changed_path, allow_changes=True)


def opened(window: Any, path: Path, **options: Any) -> Iterator[Callable[[str], Any]]:
    with serving(path, **options) as root:
        window.get(f"{root}/?token={TOKEN}")

        def go(path: str) -> Any:
            window.get(f"{root}{path}")
            return window

        yield go


def size(window: Any, width: int, scheme: str) -> None:
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    window.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    wanted = {"prefers-color-scheme": scheme, "prefers-reduced-motion": "reduce"}
    features = [{"name": name, "value": value} for name, value in wanted.items()]
    window.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def wait(window: Any, address: str) -> None:
    """Wait until the address of the page has this part."""
    from selenium.webdriver.support.ui import WebDriverWait

    WebDriverWait(window, 20).until(lambda one: address in one.current_url)


def messages(window: Any) -> list[str]:
    """What the console reported, except that a page is missing on purpose."""
    return [
        one["message"] for one in window.get_log("browser") if "status of 40" not in one["message"]
    ]


def serious_faults(page: Any, rules: Sequence[str] = ()) -> list[tuple[str, str]]:
    """What axe-core finds on a page, by all rules or by some: rule and element of each fault."""
    page.execute_cdp_cmd("Runtime.evaluate", {"expression": AXE.read_text("utf-8")})
    found = page.execute_async_script(
        "const done = arguments[arguments.length - 1];"
        "const options = {resultTypes: ['violations']};"
        "if (arguments[0].length) options.runOnly = arguments[0];"
        "axe.run(document, options).then((r) => done(r.violations));",
        list(rules),
    )
    serious = [one for one in found if one["impact"] in ("serious", "critical")]
    return [(one["id"], one["nodes"][0]["html"][:120]) for one in serious]


@pytest.mark.parametrize("language", ["en", "fr"])
def test_every_page_fits_is_quiet_is_accessible_and_asks_nobody_else(
    window: Any, shown: Callable[[str], Any], language: str
) -> None:
    """Each page is opened once, then shown in both widths and in light and dark."""
    assert AXE.exists(), "axe-core is part of the repository"
    shown(f"/?ui={language}")
    window.get_log("performance")
    wide = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
    faults = []
    for path in PAGES:
        page = shown(path)
        assert page.execute_script("return document.documentElement.lang") == language
        for open_tables in (False, True):
            page.execute_script(
                "for (const one of document.querySelectorAll('details')) one.open = arguments[0]",
                open_tables,
            )
            for width, scheme in itertools.product((360, 1300), ("light", "dark")):
                size(window, width, scheme)
                assert page.execute_script(wide) <= 0, (path, width, scheme, open_tables)
        for width, scheme in itertools.product((360, 1300), ("light", "dark")):
            size(window, width, scheme)
            # other rules see no difference between light and dark, so two runs of them suffice
            rules = ["color-contrast"] if (width, scheme) in COLOURS_ONLY else []
            faults += [(path, width, scheme, *fault) for fault in serious_faults(page, rules)]
        assert messages(page) == [], path
    assert faults == []
    asked = [entry["message"] for entry in window.get_log("performance")]
    foreign = [one for one in asked if "requestWillBeSent" in one and "://127.0.0.1:" not in one]
    assert [one for one in foreign if '"url":"data:' not in one and '"url":"http' in one] == []


def test_a_printed_page_is_black_on_white_and_has_no_forms(
    window: Any, shown: Callable[[str], Any]
) -> None:
    page = shown("/domains/1")
    style = "return getComputedStyle(document.querySelector(arguments[0]))[arguments[1]]"
    features = [{"name": "prefers-color-scheme", "value": "dark"}]
    try:
        for media, nav, paper in (
            ("screen", "block", "rgb(16, 22, 27)"),
            ("print", "none", "rgb(255, 255, 255)"),
        ):
            page.execute_cdp_cmd(
                "Emulation.setEmulatedMedia", {"media": media, "features": features}
            )
            assert page.execute_script(style, "header nav", "display") == nav
            assert page.execute_script(style, "body", "backgroundColor") == paper
        for part in (".steer", ".find", "body > footer"):
            assert page.execute_script(style, part, "display") == "none"
        assert page.execute_script(style, "h1", "color") == "rgb(0, 0, 0)"
        assert page.execute_script(style, ".chart .picture", "display") != "none"
    finally:
        page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})


class Hand:
    """A user who clicks, or one who only has a keyboard."""

    def __init__(self, page: Any, device: str) -> None:
        self._page, self._device = page, device

    def choose(self, css: str) -> Any:
        """Go to an element: with the mouse, or with the key Tab until it has the focus."""
        wanted = self._page.find_element(By.CSS_SELECTOR, css)
        if self._device == "mouse":
            self._page.execute_script("arguments[0].scrollIntoView({block: 'center'})", wanted)
            wanted.click()
            return wanted
        for _ in range(400):
            if self._page.switch_to.active_element == wanted:
                return wanted
            webdriver.ActionChains(self._page).send_keys(*[Keys.TAB]).perform()
        raise AssertionError(f"{css} cannot be reached by keyboard")

    def write(self, css: str, text: str) -> None:
        """Put a text into a field and send its form."""
        self.choose(css).send_keys(text)
        webdriver.ActionChains(self._page).send_keys(Keys.ENTER).perform()

    def press(self, css: str) -> None:
        """Press a button."""
        self.choose(css)
        if self._device == "keyboard":
            webdriver.ActionChains(self._page).send_keys(Keys.ENTER).perform()


DEVICES = pytest.mark.parametrize(("device", "language"), [("mouse", "en"), ("keyboard", "fr")])


def test_a_search_is_made_by_keyboard_and_narrowed_by_dragging(
    window: Any, shown: Callable[[str], Any]
) -> None:
    size(window, 1300, "light")
    page = shown("/?ui=en")
    page.find_element(By.TAG_NAME, "body").send_keys("/")
    box = page.switch_to.active_element
    assert box.get_attribute("name") == "q"
    box.send_keys("the", Keys.ENTER)
    wait(page, "q=the")
    whole = page.find_element(By.CSS_SELECTOR, "[role=status]").text
    bars = page.find_elements(By.CSS_SELECTOR, "[data-brush] rect")
    chain = webdriver.ActionChains(page)
    chain.move_to_element(bars[0]).click_and_hold().move_to_element(bars[1]).release().perform()
    wait(page, "until=")
    assert "since=" in page.current_url
    assert page.find_element(By.CSS_SELECTOR, "[role=status]").text != whole


@DEVICES
def test_a_search_is_narrowed_by_two_dates(
    window: Any, shown: Callable[[str], Any], device: str, language: str
) -> None:
    size(window, 1300, "light")
    page = shown(f"/search?q=de&ui={language}")
    hand = Hand(page, device)
    whole = page.find_element(By.CSS_SELECTOR, "[role=status]").text
    to_month = Keys.ARROW_LEFT * 2  # a click goes to the part of the date under the pointer
    hand.choose("#search [name=since]").send_keys(to_month, "01102026")
    hand.choose("#search [name=until]").send_keys(to_month, "02152026")
    hand.press("#search button")
    wait(page, "since=2026-01-10&until=2026-02-15")
    assert page.find_element(By.CSS_SELECTOR, "[role=status]").text != whole


@DEVICES
def test_a_domain_is_renamed_merged_and_undone(
    window: Any, steered: Callable[[str], Any], changed_path: Path, device: str, language: str
) -> None:
    size(window, 1300, "light")
    steered(f"/?ui={language}")
    before = Wire(changed_path).status().digest
    first, second = (one.id for one in Wire(changed_path).domains(limit=2, lang=language))
    page = steered(f"/domains/{first}")
    hand = Hand(page, device)
    hand.write("#label", "Mine & yours")
    wait(page, "done=")
    assert page.find_element(By.TAG_NAME, "h1").text == "Mine & yours"
    hand.press(".banner button")
    wait(page, "undone=")
    assert Wire(changed_path).status().digest == before
    steered(f"/domains/{first}")
    hand.write("#with", str(second))
    wait(page, "/merge/preview")
    hand.press("form.steer button")
    wait(page, "done=")
    assert page.current_url.partition("?")[0].endswith(f"/domains/{first}")
    assert second not in {one.id for one in Wire(changed_path).domains()}
    steered("/runs")
    hand.press("table form button")
    wait(page, "undone=")
    assert Wire(changed_path).status().digest == before


@DEVICES
def test_an_old_page_gets_the_difference_and_an_earlier_state_can_be_seen(
    window: Any, steered: Callable[[str], Any], changed_path: Path, device: str, language: str
) -> None:
    size(window, 1300, "light")
    steered(f"/?ui={language}")
    first, second = (one.id for one in Wire(changed_path).domains(limit=2, lang="en"))
    page = steered(f"/domains/{first}")
    hand, texts = Hand(page, device), Texts(language)
    with Wire(changed_path) as wire:
        wire.domains.rename(second, "By somebody else")
    before = Wire(changed_path).status().digest
    hand.write("#label", "Mine")
    wait(page, "/rename")
    assert page.find_element(By.TAG_NAME, "h1").text == texts.text("The store has changed")
    assert "rename" in page.find_element(By.TAG_NAME, "main").text
    assert Wire(changed_path).status().digest == before
    steered(f"/domains/{first}")
    hand.write("#as_of", "1")
    wait(page, "as_of=1")
    moment = texts.text("run {n}", n=1)
    shown = page.find_element(By.TAG_NAME, "main").text
    assert texts.text("As of {moment}.", moment=moment) in shown
    assert [one for one in messages(page) if "409" not in one] == []


def vectors() -> list[str]:
    """Two hundred texts that would do something on a careless page."""
    handlers = ("onerror", "onload", "onfocus", "onmouseover", "onclick", "ontoggle", "onbegin")
    calls = ("alert(1)", "alert`1`", "confirm(1)", "prompt(1)", "top.owned=1")
    made = [f"<img src=x {h}={c}>" for h in handlers for c in calls]
    made += [f'"><svg {h}={c}>' for h in handlers for c in calls]
    made += [f"' {h}='{c}' x='" for h in handlers for c in calls]
    made += [f'" autofocus {h}="{c}' for h in handlers for c in calls]
    made += [
        f"</{t}><script>{c}</script>"
        for t in ("title", "p", "textarea", "style", "svg", "td")
        for c in calls
    ]
    made += [
        f"{s}:{c}"
        for s in ("javascript", "JaVaScRiPt", "java\tscript", "vbscript", "data:text/html,<script>")
        for c in calls
    ]
    made += ["{{7*7}}", "{% raw %}", "<iframe srcdoc='<script>alert(1)</script>'>", "<base href=//evil>",
             "<meta http-equiv=refresh content=0>", "&lt;script&gt;alert(1)&lt;/script&gt;", "]]><x/>",
             "<form action=//evil><button>", "<a href=javascript:alert(1)>x</a>", "%3Cscript%3E"]  # fmt: skip
    return made


def test_two_hundred_hostile_texts_stay_texts(window: Any, tmp_path: Path) -> None:
    hostile = vectors()
    assert len(hostile) >= 200
    path = tmp_path / "hostile.db"
    body = "The storm closed the harbour and ferries stayed in port near the island."
    with Wire(path) as wire:
        wire.ingest(
            [
                {"id": f"{i} {text}", "title": text, "text": f"{text}. {body} Number {i}.", "lang": "en",
                 "source": text, "url": text, "date": f"2026-01-{i % 28 + 1:02}"}
                for i, text in enumerate(hostile)
            ]
        )  # fmt: skip
        wire.sections(limit=0)
        for domain, text in zip(wire.domains(), hostile[::40], strict=False):
            wire.domains.rename(domain.id, text[:190])
        from segapsith_store.queries import subscriptions

        for text in hostile:
            subscriptions.add(wire.writer, text, text)
    allowed = (
        "return [...document.querySelectorAll('*')].flatMap((e) => [...e.attributes].map((a) => [e, a]))"
        ".filter(([e, a]) => a.name.startsWith('on') || a.name === 'style' || a.name === 'srcdoc'"
        " || ((a.name === 'href' || a.name === 'src' || a.name === 'action')"
        " && !/^(https?:|[/#?]|$)/.test(a.value))).map(([e, a]) => e.tagName + ' ' + a.name + ' ' + a.value)"
        ".concat([...document.querySelectorAll('iframe, img, object, embed, base, script:not([src]),"
        " meta[http-equiv]')].map((e) => e.tagName)).concat(window.owned ? ['owned'] : [])"
    )
    size(window, 1300, "light")
    with serving(path, allow_changes=True) as root:
        window.get(f"{root}/?token={TOKEN}")
        from urllib.parse import quote

        ids = [f"{i} {text}" for i, text in enumerate(hostile)]
        pages = ["/", "/topics", "/sections", "/events?min_stories=1", "/domains", "/domains/1", "/map",
                 "/feeds?limit=200", "/runs", "/compare?left=1", "/search?q=storm&limit=100", "/timeline?by=day",
                 "/search?q=storm&limit=100&page=2", "/units/1"]  # fmt: skip
        pages += [f"/search?q={quote(text)}" for text in hostile]
        pages += [f"/stories/{quote(uid, safe='')}" for uid in ids]
        for page in pages:
            window.get(f"{root}{page}")
            assert window.execute_script(allowed) == [], page
            assert [one for one in messages(window)] == [], page
