"""Importing the module loads what workers need, and starts no thread: it is copied afterwards."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

LOOK = """
import sys, threading
import segapsith.parallel.warm
print("numba" in sys.modules, "scipy.sparse" in sys.modules, threading.active_count())
"""


@pytest.mark.slow
def test_numeric_libraries_are_loaded_and_no_thread_runs() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOOK], capture_output=True, text=True, check=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.stdout.split() == ["True", "True", "1"]
