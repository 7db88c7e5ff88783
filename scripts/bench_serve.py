#!/usr/bin/env python
"""Speed and memory of the web application on a large store.

The store is made of sentences of real streams, once, and is kept in --output. The server is the real
command in a process of its own. Measured are the 95th percentile of each page, warm and in the first
request after a run; then eight clients ask while an ingest writes.

    scripts/bench serve                         100,000 stories, a minute of load
    scripts/bench serve --stories 5000 --seconds 10

The limits: 100 ms warm, 600 ms after a run, 50 requests a second without an error, 250 MB of
resident memory, pages of 80 kB. The exit code is 1 if a limit is exceeded. The processor time of the
server is printed beside each time: on a machine with other work it says what a free one would take.
"""

from __future__ import annotations

import argparse
import datetime
import gzip
import http.client
import json
import os
import random
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

from segapsith.api.wire import Wire
from segapsith.report.charts.days import BUCKETS
from segapsith.web.pages.domains import SORTS

DATA = Path(
    os.environ.get("SEGAPSITH_DATA", Path(__file__).resolve().parents[2] / "shared" / "data")
)
STREAMS = {"reuters21578": ("en", 0.6), "bbc-news": ("en", 0.15), "orangesum-fr": ("fr", 0.25)}
WARM, FIRST, RATE, MEMORY, PAGE = 0.1, 0.6, 50.0, 250e6, 80_000
PROGRAM = [sys.executable, "-m", "segapsith"]
FREQUENT_WORDS = "SELECT word FROM words WHERE lang = ? AND word NOT LIKE '% %' ORDER BY documents DESC LIMIT 400"
OFTEN = ("the", "of", "said", "de")
SOME_STORIES = "SELECT uid FROM documents WHERE id % 997 = 1 LIMIT 40"
TOKEN = "a-token-for-the-benchmark"


def sentences(text: str) -> list[str]:
    parts = re.split(r"(?<=[.!?])\s+", " ".join(text.split()))
    return [part for part in parts if 20 < len(part) < 400]


def stories(count: int, first: int, seed: int):  # type: ignore[no-untyped-def]
    """Yield stories of sentences that are near each other in one stream."""
    rng = random.Random(seed)
    texts = {}
    for name in STREAMS:
        with gzip.open(DATA / name / "docs.jsonl.gz", "rt") as lines:
            read = [json.loads(line) for line in lines]
        texts[name] = [
            (d.get("title") or "", s) for d in read if len(s := sentences(d["text"])) > 3
        ]
    start = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    for i in range(first, first + count):
        name = rng.choices(list(STREAMS), [share for _, share in STREAMS.values()])[0]
        own = texts[name]
        at = rng.randrange(len(own))
        (title, one), (_, other) = own[at], own[(at + rng.randrange(5)) % len(own)]
        body = [*rng.sample(one, min(len(one), rng.randint(3, 6))), *rng.sample(other, 2)]
        date = start + datetime.timedelta(minutes=3 * i)
        yield {
            "id": f"wire-{i}", "date": date.isoformat(), "title": title or one[0][:60],
            "text": " ".join(body), "lang": STREAMS[name][0], "source": f"agency {rng.randrange(12)}",
        }  # fmt: skip


class Bars:
    def __init__(self) -> None:
        self.missed = 0

    def check(self, held: bool, text: str) -> None:
        self.missed += not held
        print(f"  {'ok    ' if held else 'MISSED'}  {text}", flush=True)


class Client:
    """One connection that is kept open."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def get(self, path: str) -> tuple[int, int, float]:
        """Return status, bytes and seconds."""
        began = time.perf_counter()
        self._connection.request("GET", path, headers={"Authorization": f"Bearer {TOKEN}"})
        answer = self._connection.getresponse()
        body = answer.read()
        return answer.status, len(body), time.perf_counter() - began


def pages(store: Path, rng: random.Random) -> dict[str, list[str]]:
    """Return addresses of every kind of page, with many values of its parameters.

    Where a page has parameters, no address occurs twice, so that no answer was made before.
    """
    wire = Wire(store)
    activity = wire.browse.activity()
    days = list(activity.stream.days)
    domains = rng.sample(sorted(activity.described), 60)
    large = [row.id for row in wire.browse.map(None, 40).domains]
    units = rng.sample(activity.units.tolist(), 40)
    topics = [topic.id for topic in wire.browse.topics(40)]
    sections = [section.id for section in wire.browse.sections()]
    runs = [run.id for run in wire.runs(40) if run.status == "done"]
    frequent = wire.read(lambda s: list(s.rows(FREQUENT_WORDS, ["en"])))
    words = [word for (word,) in frequent]
    sources = [name for name in wire.browse.columns().count_sources() if name]
    stories = [row[0] for row in wire.read(lambda s: list(s.rows(SOME_STORIES)))]

    def day() -> str:
        return rng.choice(days)

    def word() -> str:
        return quote(rng.choice(words))

    def some(make: Callable[[], str], count: int = 40) -> list[str]:
        """Return different addresses, at most `count`."""
        return list(dict.fromkeys(make() for _ in range(3 * count)))[:count]

    return {
        **{path: [path] * 20 for path in ("/sections", "/validation", "/runs", "/feeds", "/watch",
                                          "/cite")},
        "/": ["/", *some(lambda: f"/?since={day()}", 20), *(f"/?since={run}" for run in runs)],
        "/topics": [f"/topics?page={page}" for page in range(1, 21)],
        "/domains": some(lambda: f"/domains?sort={rng.choice(SORTS)}&page={rng.randrange(1, 99)}"
                         f"&min_units={rng.randrange(1, 9)}"),
        "/domains?q=": some(lambda: f"/domains?q={word()}"),
        "/domains?as_of=": [f"/domains?as_of={at}" for at in (*runs, *some(day, 20))],
        "/domains/ID": [f"/domains/{n}" for n in [*domains[:20], *large[:20]]],
        "/domains/ID?as_of=": some(lambda: f"/domains/{rng.choice(large)}?as_of={rng.choice(days[-60:])}", 20),
        "/topics/ID": [f"/topics/{n}" for n in topics],
        "/sections/ID": [f"/sections/{n}" for n in sections],
        "/events": some(lambda: f"/events?since={day()}&until={days[-1]}&page={rng.randrange(1, 5)}"),
        "/events?event=": [
            f"/events?event={event.id}" for event in wire.events(min_stories=3, limit=40)
        ],
        "/units/ID": [f"/units/{n}" for n in units],
        "/stories/ID": [f"/stories/{quote(uid, safe='')}" for uid in stories],
        "/search": some(lambda: f"/search?q={word()}"),
        "/search, most frequent words": [
            f"/search?q={quote(one)}" for one in (*OFTEN, *words[:16])
        ],
        "/search, two words": some(lambda: f"/search?q={word()}+{word()}"),
        "/search, restricted": some(lambda: f"/search?q={word()}&since={day()}&lang=en"
                                    f"&source={quote(rng.choice(sources))}"
                                    f"&section={rng.choice(sections)}"),
        "/words/en/WORD": [f"/words/en/{quote(one, safe='')}" for one in words[:40]],
        "/timeline": some(lambda: f"/timeline?by={rng.choice(BUCKETS)}&measure=share"
                          f"&domain={rng.choice(large)}&topic={rng.choice(topics)}"
                          f"&since={day()}"),
        "/compare": some(lambda: f"/compare?left={rng.choice([*runs, day()])}"
                         f"&right={rng.choice([*runs, day()])}"),
        "/map": [f"/map?lang={lang}&most={most}" for lang in ("en", "fr")
                 for most in range(40, 61, 2)],
    }  # fmt: skip


def percentile(values: list[float]) -> float:
    return sorted(values)[min(len(values) - 1, int(0.95 * len(values)))]


def processor_seconds(process: int) -> float:
    """Return the processor time that all threads of a process have used."""
    threads = Path(f"/proc/{process}/task").glob("*/schedstat")
    return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e9


def resident(process: int) -> float:
    text = Path(f"/proc/{process}/status").read_text()
    found = re.search(r"VmHWM:\s+(\d+) kB", text)
    return int(found.group(1)) * 1024 if found else 0.0


def ingest(store: Path, items: Path) -> subprocess.Popen[bytes]:
    command = [*PROGRAM, "ingest", str(items), "--store", str(store), "--quiet"]
    return subprocess.Popen(command)


def written(path: Path, count: int, first: int, seed: int) -> Path:
    with path.open("w", encoding="utf-8") as out:
        for item in stories(count, first, seed):
            out.write(json.dumps(item) + "\n")
    return path


def load(port: int, addresses: list[str], seconds: float) -> tuple[int, int, list[float]]:
    """Ask from eight clients at 50 requests a second; return answers, errors and times."""
    times: list[float] = []
    errors: list[object] = []
    end = time.monotonic() + seconds

    def ask(number: int) -> None:
        client, rng = Client(port), random.Random(number)
        due = time.monotonic()
        while time.monotonic() < end:
            try:
                status, _, took = client.get(rng.choice(addresses))
                times.append(took)
                if status != 200:
                    errors.append(status)
            except (OSError, http.client.HTTPException) as error:
                errors.append(error)
                client = Client(port)
            due += 8 / RATE
            time.sleep(max(0.0, due - time.monotonic()))

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(times), len(errors), times


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--stories", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument(
        "--arriving", type=int, default=40_000, help="stories of the ingest that writes meanwhile"
    )
    parser.add_argument("--output", type=Path, default=Path("out/serve"))
    parser.add_argument("--store", type=Path, help="measure on this store, and change it")
    given = parser.parse_args()
    given.output.mkdir(parents=True, exist_ok=True)
    store = given.store or given.output / f"wire-{given.stories}.db"
    if not store.exists():
        items = written(given.output / "wire.jsonl", given.stories, 0, 1)
        ingest(store, items).wait()
        subprocess.run([*PROGRAM, "sections", "--store", store, "--quiet"], check=True)
        subprocess.run(
            [*PROGRAM, "validate", "--last", "5000", "--store", store, "--quiet"], check=True
        )
    (given.output / "token").write_text(TOKEN)
    command = [*PROGRAM, "serve", "--port", "0", "--store", str(store), "--json",
               "--token-file", str(given.output / "token")]  # fmt: skip
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    port = int(json.loads(server.stdout.readline())["url"].split(":")[2].split("/")[0])
    bars = Bars()
    try:
        client = Client(port)
        kinds = pages(store, random.Random(0))
        for addresses in kinds.values():
            client.get(addresses[0])
        for kind, addresses in kinds.items():
            before = processor_seconds(server.pid)
            answers = [client.get(address) for address in addresses]
            worked = (processor_seconds(server.pid) - before) / len(addresses)
            took = percentile([seconds for _, _, seconds in answers])
            largest = max(size for _, size, _ in answers)
            right = all(status == 200 for status, _, _ in answers)
            bars.check(
                right and took <= WARM and largest <= PAGE,
                f"{kind}: p95 {1000 * took:.0f} ms warm, at most {largest / 1000:.0f} kB"
                f" ({1000 * worked:.0f} ms of processor each)",
            )
        firsts = []
        for night, (kind, addresses) in enumerate(kinds.items()):
            items = written(given.output / "night.jsonl", 5, 10**7 + 10 * night, night)
            ingest(store, items).wait()
            client = Client(port)  # the server closes a connection that is idle for long
            before = processor_seconds(server.pid)
            took = client.get(addresses[0])[2]
            worked = processor_seconds(server.pid) - before
            firsts.append((took, kind))
            print(f"          {kind}: {1000 * took:.0f} ms, {1000 * worked:.0f} ms of processor")
        slowest = max(firsts)
        bars.check(
            slowest[0] <= FIRST,
            f"first request after a run: {1000 * slowest[0]:.0f} ms at most ({slowest[1]})",
        )
        items = written(given.output / "night.jsonl", given.arriving, 2 * 10**7, 99)
        writer = ingest(store, items)
        n_answers, n_errors, times = load(
            port, [a for of in kinds.values() for a in of], given.seconds
        )
        bars.check(
            writer.poll() is None and not n_errors and n_answers >= 0.98 * RATE * given.seconds,
            f"{n_answers / given.seconds:.1f} requests a second while an ingest writes"
            f"{' all the time' if writer.poll() is None else ', which ended before'}, "
            f"{n_errors} errors, p95 {1000 * percentile(times):.0f} ms",
        )
        writer.terminate()  # what it has stored stays
        writer.wait()
        memory = resident(server.pid)
        bars.check(memory <= MEMORY, f"{memory / 1e6:.0f} MB resident at most")
    finally:
        server.terminate()
        server.wait(20)
    return int(bars.missed > 0)


if __name__ == "__main__":
    sys.exit(main())
