"""Workers that share nothing with the command but a network: other directories, other namespaces.

Where root may make network namespaces, each worker has one of its own, with one address and no way
out, and a mount namespace in which the folder of the test is empty. Elsewhere workers have empty
directories of their own.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from segapsith.demo import sample

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]
pytest.importorskip("distributed")

NETWORK = f"10.203.{os.getpid() % 250}"
"""Beginning of the addresses; a test process has its own."""

NAME = f"sg{os.getpid() % 100000}"
"""Beginning of the names of devices and namespaces, of at most 15 characters with their end."""

QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "stdin": subprocess.DEVNULL}

FALSIFIED = """
from dataclasses import replace
import segapsith.demo.worker_proof as module

true = module.prove

def prove(item, shared):
    made = true(item, shared)
    return replace(made, hashes={**made.hashes, "reading": "0"})

module.prove = prove
"""
"""A module that changes what a worker makes of the sample, as another processor would."""


def run(*command: str) -> None:
    subprocess.run(command, check=True, **QUIET)  # type: ignore[call-overload]


@dataclass
class Machines:
    """Places for workers: the address of the scheduler, and the beginning of a worker's command."""

    address: str
    prefixes: list[list[str]]
    devices: list[str] = field(default_factory=list)
    """Network devices of the workers, at the side of the scheduler."""

    def n_bytes(self) -> int:
        """Return the bytes that went to the workers and came from them."""
        folders = [Path("/sys/class/net", device, "statistics") for device in self.devices]
        return sum(
            int(folder.joinpath(name).read_text())
            for folder in folders
            for name in ("rx_bytes", "tx_bytes")
        )


@contextlib.contextmanager
def namespaces(hidden: Path, n_workers: int) -> Iterator[Machines]:
    """Make network namespaces that are connected by a bridge, and remove them."""
    bridge = f"{NAME}b"
    names = [f"{NAME}w{number}" for number in range(n_workers)]
    devices = [f"{NAME}v{number}" for number in range(n_workers)]
    try:
        run("ip", "link", "add", bridge, "type", "bridge")
        run("ip", "address", "add", f"{NETWORK}.1/24", "dev", bridge)
        run("ip", "link", "set", bridge, "up")
        for number, (name, device) in enumerate(zip(names, devices, strict=True)):
            inside = f"{NAME}i{number}"
            run("ip", "netns", "add", name)
            run("ip", "link", "add", device, "type", "veth", "peer", "name", inside)
            run("ip", "link", "set", inside, "netns", name)
            run("ip", "link", "set", device, "master", bridge)
            run("ip", "link", "set", device, "up")
            within = ("ip", "-n", name)
            run(*within, "address", "add", f"{NETWORK}.{number + 2}/24", "dev", inside)
            run(*within, "link", "set", inside, "up")
            run(*within, "link", "set", "lo", "up")
        # the worker's home is empty, and so is the folder of the test
        alone = f'mount -t tmpfs none "{hidden}" && cd "{hidden}" && exec "$@"'
        yield Machines(
            f"{NETWORK}.1",
            [
                ["ip", "netns", "exec", name, "unshare", "--mount", "sh", "-c", alone, "sh"]
                for name in names
            ],
            devices,
        )
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "delete", name], check=False, **QUIET)  # type: ignore[call-overload]
        for device in [*devices, bridge]:
            subprocess.run(["ip", "link", "delete", device], check=False, **QUIET)  # type: ignore[call-overload]


def why_no_namespaces() -> str:
    """Return why this process cannot make network namespaces; nothing if it can."""
    if sys.platform != "linux":
        return "network namespaces are of Linux"
    if os.geteuid() != 0:
        return "network namespaces need root"
    if not shutil.which("ip") or not shutil.which("unshare"):
        return "the commands `ip` and `unshare` are not installed"
    bridge = f"{NAME}t"
    try:
        run("ip", "link", "add", bridge, "type", "bridge")
        run("ip", "link", "delete", bridge)
        run("ip", "netns", "add", bridge)
        run("ip", "netns", "delete", bridge)
        run("unshare", "--mount", "true")
    except (OSError, subprocess.CalledProcessError) as error:
        return f"network namespaces are not allowed here ({error})"
    return ""


@contextlib.contextmanager
def cluster(machines: Machines, folder: Path, falsified: int | None = None) -> Iterator[str]:
    """Start a scheduler, and a worker on each machine; yield the address of the scheduler."""
    import distributed

    note = folder / "scheduler.json"
    program = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--no-dashboard"]
    started = []
    try:
        place = ["--host", machines.address, "--port", "0", "--scheduler-file", str(note)]
        started.append(subprocess.Popen([*program, *place], cwd=folder, **QUIET))  # type: ignore[call-overload]
        while not note.is_file() or not note.read_text():
            assert started[0].poll() is None, "the scheduler did not start"
            threading.Event().wait(0.05)
        address = json.loads(note.read_text())["address"]
        for number, prefix in enumerate(machines.prefixes):
            home = folder / f"home-{number}"
            home.mkdir()
            modules = home / "modules"
            if number == falsified:
                modules.mkdir()
                modules.joinpath("sitecustomize.py").write_text(FALSIFIED)
            worker = [sys.executable, "-m", "distributed.cli.dask_worker", address]
            options = ["--no-dashboard", "--nthreads", "1", "--no-nanny"]
            environment = {**os.environ, "PYTHONPATH": str(modules), "OPENBLAS_NUM_THREADS": "1"}
            started.append(
                subprocess.Popen([*prefix, *worker, *options], cwd=home, env=environment, **QUIET)  # type: ignore[call-overload]
            )
        with distributed.Client(address, timeout=60, set_as_default=False) as client:
            client.wait_for_workers(len(machines.prefixes), timeout=240)
        yield address
    finally:
        for process in started:
            process.kill()
            process.wait()


@pytest.fixture
def stories(tmp_path: Path) -> Path:
    path = tmp_path / "stories.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in sample.lines("en")[:100]), "utf-8")
    return path


Command = Callable[..., tuple[int, str, str]]


def digest(command: Command, store: Path) -> str:
    code, out, err = command("status", "--json", "--store", str(store))
    assert code == 0, err
    return str(json.loads(out)["digest"])


def check_far_ingest(machines: Machines, folder: Path, stories: Path, command: Command) -> None:
    """Ingest here and far away, raw and prepared: the stores should be equal."""
    assert command("ingest", str(stories), "--store", str(folder / "here.db"))[0] == 0
    with cluster(machines, folder) as address:
        before = machines.n_bytes()
        far = ("--workers", f"dask:{address}")
        code, _, err = command("ingest", str(stories), "--store", str(folder / "far.db"), *far)
        assert code == 0, err
        shards = str(folder / "shards")
        code, _, err = command("prepare", str(stories), "--output", shards, *far)
        assert code == 0, err
        n_bytes = machines.n_bytes() - before
    assert command("ingest", shards, "--store", str(folder / "shards.db"))[0] == 0
    digests = {digest(command, folder / f"{name}.db") for name in ("here", "far", "shards")}
    assert len(digests) == 1
    if machines.devices:  # the work went there, and only the work
        assert stories.stat().st_size < n_bytes < 100 * stories.stat().st_size


def test_workers_in_network_namespaces_give_the_same_store(
    tmp_path: Path, stories: Path, command: Command
) -> None:
    if reason := why_no_namespaces():
        pytest.skip(reason)
    with namespaces(tmp_path, 2) as machines:
        check_far_ingest(machines, tmp_path, stories, command)


def test_workers_in_other_directories_give_the_same_store(
    tmp_path: Path, stories: Path, command: Command
) -> None:
    check_far_ingest(Machines("127.0.0.1", [[], []]), tmp_path, stories, command)


def test_a_far_worker_with_a_falsified_proof_is_refused(
    tmp_path: Path, stories: Path, command: Command
) -> None:
    with cluster(Machines("127.0.0.1", [[]]), tmp_path, falsified=0) as address:
        for arguments in (
            ("ingest", str(stories), "--store", str(tmp_path / "far.db")),
            ("prepare", str(stories), "--output", str(tmp_path / "shards")),
        ):
            code, _, err = command(*arguments, "--workers", f"dask:{address}")
            assert code == 78, err
            assert "a worker is refused: its reading of the bundled sample" in err
    assert not list(tmp_path.glob("shards/*"))
