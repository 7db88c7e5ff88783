"""What several tests share."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from segapsith.api.factory import Factory
from segapsith.api.wire import Wire
from segapsith.cli.app import run
from segapsith.parallel.packing import pack
from segapsith.parallel.tasks import Recent, SharedValues, perform, result_of
from segapsith.plugin.contracts import SharedValue
from segapsith.settings import resolve

# The speed of the machine decides no test.
settings.register_profile(
    "any-speed",
    settings.get_profile(settings.get_current_profile_name()),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("any-speed")
settings.register_profile("quick", settings.get_profile("any-speed"), max_examples=30)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="prove the promises at length")


SLOW = (
    *("web/", "sklearn/", "river/", "reproduce/", "test_sklearn.py", "engine/test_storage.py"),
    *("engine/test_removal.py", "cli/test_domains.py", "plugins/annotators/test_unspaced.py"),
    *("api/test_preparation.py", "plugins/sources/test_redis_stream.py", "cli/test_search.py"),
    *("languages/test_dictionaries.py", "api/test_browsing.py", "api/test_federation.py"),
    *("plugins/similarities/test_mvsim.py", "engine/test_learning_settings.py"),
)
"""Folders and files whose tests together take many seconds."""


@pytest.hookimpl(tryfirst=True)  # before the selection by marks
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    folder = Path(__file__).parent
    for item in items:
        place = os.path.relpath(item.path, folder)
        if place.startswith(SLOW):
            item.add_marker(pytest.mark.slow)
    if config.getoption("--long"):
        return
    for item in items:
        if "long" in item.keywords:
            item.add_marker(pytest.mark.skip(reason="takes long; run with --long"))


@pytest.fixture(scope="session")
def data() -> Path:
    """The evaluation data, if it is there."""
    folder = Path(os.environ.get("SEGAPSITH_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"the evaluation data is not at {folder} (SEGAPSITH_DATA)")
    return folder


class Clock:
    """Time that passes only when a test says so; stands in for `time.monotonic`."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds

    def advance(self, seconds: float) -> None:
        self.seconds += seconds

    def ring(self) -> None:
        """Deliver the alarm that the system would have sent by now."""
        signal.raise_signal(signal.SIGALRM)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def open_wire(tmp_path: Path) -> Iterator[Callable[..., Wire]]:
    """Opens wires on stores below a temporary directory and closes them at the end."""
    opened: list[Wire] = []

    def make(name: str = "wire.db", *, change_learning: bool = False, **settings: Any) -> Wire:
        chosen = resolve(settings, environment={})
        wire = Wire(tmp_path / name, chosen, change_learning=change_learning)
        opened.append(wire)
        return wire

    yield make
    for wire in opened:
        wire.close()


@pytest.fixture
def command(
    capfdbinary: pytest.CaptureFixture[bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[int, str, str]]:
    """Runs a command in this process: exit code, standard output, standard error."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "no-config"))
    for name in list(os.environ):
        if name.startswith("SEGAPSITH_"):
            monkeypatch.delenv(name)

    def call(*arguments: str) -> tuple[int, str, str]:
        capfdbinary.readouterr()
        code = run(list(arguments))
        out, err = capfdbinary.readouterr()
        return code, out.decode(), err.decode()

    return call


class Packed:
    """An executor that sends everything as bytes, to a worker in this process."""

    n_workers = 1

    def __init__(self) -> None:
        self._values, self._held = SharedValues(), Recent()
        self.n_sent: dict[str, int] = {}
        """How often each shared value was sent, by its name."""
        self.n_items = 0

    def map(
        self, task: str, items: Iterable[object], shared: Mapping[str, SharedValue] | None = None
    ) -> Iterator[Any]:
        given = dict(shared or {})
        names = {name: one.digest for name, one in given.items()}
        for item in items:
            self.n_items += 1
            new = {}
            for name, one in given.items():
                if one.digest not in self._held:
                    new[one.digest] = one.data
                    self.n_sent[name] = self.n_sent.get(name, 0) + 1
            self._held.use(names.values())
            yield result_of(perform(task, pack(item), self._values.load(names, new)))

    def close(self) -> None:
        pass


@pytest.fixture
def packed(monkeypatch: pytest.MonkeyPatch) -> Packed:
    """Every executor is one that sends bytes, to a worker in this process."""
    executor = Packed()
    monkeypatch.setattr(Factory, "executor", property(lambda _: executor))
    return executor
