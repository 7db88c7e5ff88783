"""Commands get JSON on standard input; their exit code says whether it arrived."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest

from segapsith.errors import ConfigurationError, DeliveryError, UncertainDeliveryError
from segapsith.model import Notice
from segapsith_plugins.notifiers.command import Command


def python(code: str, *arguments: str) -> str:
    return shlex.join([sys.executable, "-c", code, *arguments])


def test_a_program_gets_the_notices(tmp_path: Path, notices: list[Notice]) -> None:
    path = tmp_path / "a file; touch x"
    code = "import pathlib, sys; pathlib.Path(sys.argv[1]).write_bytes(sys.stdin.buffer.read())"
    Command(run=python(code, str(path))).send(notices)
    value = json.loads(path.read_bytes())
    assert [one["title"] for one in value["notices"]] == [one.title for one in notices]
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_a_failing_program_is_a_failure_with_its_last_line(notices: list[Notice]) -> None:
    code = "import sys; sys.stdin.read(); print('no network', file=sys.stderr); sys.exit(3)"
    with pytest.raises(DeliveryError, match="exit code 3: no network"):
        Command(run=python(code)).send(notices)
    with pytest.raises(DeliveryError, match="no/such"):
        Command(run="no/such/program").send(notices)
    with pytest.raises(ConfigurationError, match="needs run"):
        Command().send(notices)


def test_a_program_that_never_ends_is_stopped_and_uncertain(notices: list[Notice]) -> None:
    code = "import threading; threading.Event().wait()"
    with pytest.raises(UncertainDeliveryError, match="stopped"):
        Command(run=python(code), timeout=0.2).send(notices)
