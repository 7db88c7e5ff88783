"""The pages in a real browser: every page, by clicking and by keyboard, and hostile texts."""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from segapsith import web
from segapsith.api.wire import Wire
from segapsith.web.serving import bound

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
    "/units/1", "/search", "/search?q=the", "/words/en/rate", "/timeline", "/compare", "/validation",
    "/map", "/runs", "/feeds", "/watch", "/cite", "/domains/1/merge/preview?with=2",
    "/domains/1/split/preview?parts=2", "/nothing",
)  # fmt: skip


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
def shown(window: Any, shown_path: Path) -> Iterator[Callable[[str], Any]]:
    """Opens a page of the application that may only be read."""
    with serving(shown_path) as root:
        window.get(f"{root}/?token={TOKEN}")

        def go(path: str) -> Any:
            window.get(f"{root}{path}")
            return window

        yield go


@pytest.fixture
def steered(window: Any, own_path: Path) -> Iterator[Callable[[str], Any]]:
    """Opens a page of the application that may be changed."""
    with serving(own_path, allow_changes=True) as root:
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


@pytest.mark.parametrize("width", [360, 1300])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_fits_is_quiet_and_asks_nobody_else(
    window: Any, shown: Callable[[str], Any], width: int, scheme: str
) -> None:
    size(window, width, scheme)
    window.get_log("performance")
    for path in PAGES:
        page = shown(path)
        assert messages(page) == [], path
        wide = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert page.execute_script(wide) <= 0, path
        for details in page.find_elements(By.TAG_NAME, "details"):
            page.execute_script("arguments[0].open = true", details)
        assert page.execute_script(wide) <= 0, f"{path} with its tables open"
    asked = [entry["message"] for entry in window.get_log("performance")]
    foreign = [one for one in asked if "requestWillBeSent" in one and "://127.0.0.1:" not in one]
    assert [one for one in foreign if '"url":"data:' not in one and '"url":"http' in one] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_serious_fault(window: Any, shown: Callable[[str], Any], scheme: str) -> None:
    if not AXE.exists():
        pytest.skip("axe-core is not there")
    size(window, 1300, scheme)
    source, faults = AXE.read_text("utf-8"), []
    for path in PAGES:
        page = shown(path)
        page.execute_cdp_cmd("Runtime.evaluate", {"expression": source})
        found = page.execute_async_script(
            "const done = arguments[arguments.length - 1];"
            "axe.run(document, {resultTypes: ['violations']}).then((r) => done(r.violations));"
        )
        faults += [
            (path, one["id"], one["nodes"][0]["html"][:120])
            for one in found
            if one["impact"] in ("serious", "critical")
        ]
    assert faults == []


def test_a_search_is_made_by_keyboard_and_narrowed_by_two_dates(
    shown: Callable[[str], Any],
) -> None:
    page = shown("/")
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


def test_a_domain_is_renamed_merged_and_undone_by_clicking(
    window: Any, steered: Callable[[str], Any], own_path: Path
) -> None:
    size(window, 1300, "light")
    before = Wire(own_path).status().digest
    first, second = (one.id for one in Wire(own_path).domains(limit=2, lang="en"))
    page = steered(f"/domains/{first}")
    page.find_element(By.ID, "label").send_keys("Mine & yours", Keys.ENTER)
    wait(page, "done=")
    assert page.find_element(By.TAG_NAME, "h1").text == "Mine & yours"
    page.find_element(By.CSS_SELECTOR, ".banner button").click()
    wait(page, "undone=")
    assert Wire(own_path).status().digest == before
    page = steered(f"/domains/{first}")
    page.find_element(By.ID, "with").send_keys(str(second), Keys.ENTER)
    wait(page, "/merge/preview")
    page.find_element(By.CSS_SELECTOR, "form.steer button").click()
    wait(page, "done=")
    assert page.current_url.partition("?")[0].endswith(f"/domains/{first}")
    assert second not in {one.id for one in Wire(own_path).domains()}
    page = steered("/runs")
    page.find_element(By.CSS_SELECTOR, "table form button").click()
    wait(page, "undone=")
    assert Wire(own_path).status().digest == before


def test_an_old_page_gets_the_difference_and_an_earlier_state_can_be_seen(
    window: Any, steered: Callable[[str], Any], own_path: Path
) -> None:
    first, second = (one.id for one in Wire(own_path).domains(limit=2, lang="en"))
    page = steered(f"/domains/{first}")
    with Wire(own_path) as wire:
        wire.domains.rename(second, "By somebody else")
    before = Wire(own_path).status().digest
    page.find_element(By.ID, "label").send_keys("Mine", Keys.ENTER)
    wait(page, "/rename")
    assert page.find_element(By.TAG_NAME, "h1").text == "The store has changed"
    assert "rename" in page.find_element(By.TAG_NAME, "main").text
    assert Wire(own_path).status().digest == before
    page = steered(f"/domains/{first}")
    page.find_element(By.ID, "as_of").send_keys("1", Keys.ENTER)
    wait(page, "as_of=1")
    assert "As of run 1." in page.find_element(By.TAG_NAME, "main").text
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
