"""Settings have an origin, a type and a range."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

import segapsith
from segapsith.domains.values import PlacementSettings
from segapsith.errors import ConfigurationError
from segapsith.settings import ENGINE, SETTINGS, checked

Command = Callable[..., tuple[int, str, str]]
Answer = Callable[..., Any]


def test_settings_say_where_they_come_from(answer: Answer, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("segapsith.toml").write_text('lang = "en"\nthreshold = 0.3\n[set]\nmin_words = 9\n')
    monkeypatch.setenv("SEGAPSITH_THRESHOLD", "0.4")
    monkeypatch.setenv("SEGAPSITH_STORE", "env.db")
    shown = answer("config", "--store", "flag.db")
    assert shown["store"] == {"value": "flag.db", "origin": "flag"}
    assert shown["threshold"] == {"value": 0.4, "origin": "environment"}
    assert shown["lang"]["origin"] == "file segapsith.toml"
    assert shown["annotator"]["origin"] == "default"
    assert shown["set.min_words"]["value"] == 9


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("treshold = 1", "did you mean 'threshold'"),
        ('threshold = "high"', "threshold='high' (file segapsith.toml) should be a number from 0"),
        ("threshold = true", "should be a number from 0 to 1"),
        ("threshold = 1.5", "threshold=1.5 (file segapsith.toml) should be a number from 0 to 1"),
        ("threshold = nan", "should be a number from 0 to 1"),
        ("workers = 0", "workers=0 (file segapsith.toml) should be a number of at least 1, auto"),
        ("retire_after = -1", "should be a whole number of at least 0"),
        ("keep_daily = 2.5", "should be a whole number of at least 1"),
        ("learn_terms = 3", "should be true or false"),
        ("inbox = 3", "should be a text"),
        ('preset = "mine"', "should be one of"),
        ("= 1", "segapsith.toml"),
    ],
)
def test_a_wrong_configuration_is_explained(command: Command, content: str, says: str) -> None:
    Path("segapsith.toml").write_text(content)
    code, _, err = command("config")
    assert code == 78
    assert says in err


def test_every_number_has_a_range_and_every_default_lies_in_it() -> None:
    for setting in {**SETTINGS, **ENGINE}.values():
        assert checked(setting, setting.default, "default") == setting.default
        if isinstance(setting.default, int | float) and not isinstance(setting.default, bool):
            assert setting.least is not None, setting.name
            with pytest.raises(ConfigurationError, match="should be a"):
                checked(setting, setting.least - 1, "flag")


def test_what_the_engine_alone_takes_has_its_defaults() -> None:
    fields = {**SETTINGS, **ENGINE}
    for name, default in asdict(PlacementSettings()).items():
        assert fields[name].default == default


def test_python_is_told_of_a_setting_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="did you mean 'threshold'"):
        segapsith.open(tmp_path / "wire.db", treshold=0.3)
