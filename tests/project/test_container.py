"""The container files are well formed, and name what is there; no engine is needed to see that."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from segapsith.cli.app import program

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "scripts" / "container"
INSTRUCTIONS = {
    *("FROM", "WORKDIR", "COPY", "RUN", "ENV", "USER", "VOLUME", "EXPOSE", "ENTRYPOINT", "CMD"),
    *("LABEL", "ARG", "HEALTHCHECK"),
}


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    value: dict[str, Any] = yaml.safe_load((FOLDER / "compose.yaml").read_text("utf-8"))
    return value


def test_the_container_file_is_well_formed_and_runs_without_rights() -> None:
    text = re.sub(r"\\\n", " ", (FOLDER / "Containerfile").read_text("utf-8"))
    lines = [line.split(None, 1) for line in text.splitlines() if line and not line.startswith("#")]
    assert {word for word, _ in lines} <= INSTRUCTIONS and lines[0][0] == "FROM"
    names = [word for word, _ in lines]
    last = names[len(names) - names[::-1].index("FROM") :]
    assert last.index("USER") < last.index("ENTRYPOINT")
    assert all(":latest" not in rest and ":" in rest for word, rest in lines if word == "FROM")
    for path in re.findall(r"-r (\S+)", text):
        assert (ROOT / path).is_file()
    assert "--require-hashes" in text


def test_services_run_commands_that_exist_with_options_that_exist(compose: dict[str, Any]) -> None:
    commands = program(only_own=True).commands
    for service in compose["services"].values():
        name, *words = service["command"]
        options = {option for p in commands[name].params for option in p.opts}
        assert {word for word in words if word.startswith("--")} <= options
        assert service["read_only"] and service["cap_drop"] == ["ALL"]
        assert {v.partition(":")[0] for v in service["volumes"]} <= set(compose["volumes"])
        assert set(service.get("secrets", ())) <= set(compose["secrets"])
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ()))


def test_the_build_finds_its_file(compose: dict[str, Any]) -> None:
    build = compose["services"]["web"]["build"]
    assert (FOLDER / build["context"]).resolve() == ROOT
    assert (ROOT / build["dockerfile"]).is_file()
