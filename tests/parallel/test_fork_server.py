"""Workers that are copies of a fork server have its modules and its environment."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys

import pytest

from segapsith.parallel.fork_server import ForkServer

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        "forkserver" not in multiprocessing.get_all_start_methods(),
        reason="this system has no fork server",
    ),
]

WORKER = """
import multiprocessing, os, sys
from segapsith.parallel.fork_server import ForkServer

def look(pipe):
    names = ("numba", "segapsith.engine.order_sensitivity")
    pipe.send(([name in sys.modules for name in names], os.environ["SEGAPSITH_TEST"]))

if __name__ == "__main__":
    server = ForkServer()
    assert server.start("replay-order", {"SEGAPSITH_TEST": "there"})
    context = multiprocessing.get_context("forkserver")
    mine, theirs = context.Pipe()
    process = context.Process(target=look, args=(theirs,))
    process.start()
    print(*mine.recv(), os.environ.get("SEGAPSITH_TEST"))
    process.join()
    server.stop()
"""


def test_a_worker_has_the_modules_and_the_environment_of_the_server(
    tmp_path: os.PathLike[str],
) -> None:
    program = os.path.join(tmp_path, "program.py")
    with open(program, "w", encoding="utf-8") as file:
        file.write(WORKER)
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[0] == "[True, True] there None", done.stderr


def test_the_last_user_ends_the_server() -> None:
    first, second = ForkServer(), ForkServer()
    try:
        assert first.start("check", {}) and second.start("check", {})
        first.stop()
        context = multiprocessing.get_context("forkserver")
        process = context.Process(target=os.getpid)
        process.start()
        process.join()
        assert process.exitcode == 0 and ForkServer._is_ours
    finally:
        second.stop()
    assert not ForkServer._is_ours
