"""`reproduce`: tables are listed, and unknown tables and missing data are named."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from segapsith.errors import MissingInputError, UsageError
from segapsith_reproduce import TABLES, Options, Reproduction, Table, reproduce

pytestmark = pytest.mark.slow

Run = Callable[..., tuple[int, str, str]]


def test_every_table_has_a_function_and_a_line_of_help() -> None:
    for found in TABLES.values():
        module, _, name = found.home.partition(":")
        assert callable(getattr(importlib.import_module(f"segapsith_reproduce.{module}"), name))
        assert found.about and "\n" not in found.about


def test_an_unknown_table_and_absent_data_are_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no table is called 'nothing'"):
        reproduce("nothing", tmp_path)
    with pytest.raises(MissingInputError, match="has no directory choi"):
        Reproduction("a table", "nowhere:table", ("choi",)).compute(tmp_path, Options())


def test_a_table_is_a_list_of_named_cells() -> None:
    found = Table("one", ["set", "Pk"], [["choi", 8.5]], ["a note"])
    assert found.as_json() == {
        "title": "one",
        "rows": [{"set": "choi", "Pk": 8.5}],
        "notes": ["a note"],
    }


def test_the_command_lists_the_tables(command: Run) -> None:
    code, out, _ = command("reproduce", "--json")
    assert code == 0
    assert json.loads(out) == {name: found.about for name, found in TABLES.items()}
    code, _, err = command("reproduce", "choi")
    assert code == 2 and "--data" in err
