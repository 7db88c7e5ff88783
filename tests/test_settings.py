"""Settings are resolved, checked and typed once, and each one has its origin."""

from __future__ import annotations

import json
import math
import os
import tempfile
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from segapsith.errors import ConfigurationError, SettingError
from segapsith.settings import ENGINE, PRESETS, SECTIONS, SETTINGS, Setting, Value, checked, resolve
from segapsith.settings.resolution import _RENAMED


def of_file(tmp_path: Path, content: str, **flags: Any) -> Any:
    path = tmp_path / "mine.toml"
    path.write_text(content, encoding="utf-8")
    return resolve(flags, file=str(path), environment={})


# -- sections --------------------------------------------------------------------------------


def test_without_anything_given_every_value_is_its_default() -> None:
    chosen = resolve(environment={})
    assert chosen.values == {name: setting.default for name, setting in SETTINGS.items()}
    assert set(chosen.origins.values()) == {"default"}
    assert chosen.plugins == {}


def test_every_setting_but_the_preset_is_a_field_of_one_section() -> None:
    chosen = resolve(environment={})
    declared = [(section, f.name) for section, kind in SECTIONS.items() for f in fields(kind)]
    assert sorted(declared) == sorted((s.section, s.key) for s in SETTINGS.values() if s.section)
    for section, key in declared:
        value = getattr(getattr(chosen, section), key)
        (setting,) = (s for s in SETTINGS.values() if (s.section, s.key) == (section, key))
        assert type(value) is type(setting.default) and value == setting.default
    assert [s.name for s in SETTINGS.values() if not s.section] == ["preset"]


def test_sections_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        resolve(environment={}).placement.threshold = 0.5  # type: ignore[misc]


def test_the_json_form_has_flat_names_in_the_order_of_the_table() -> None:
    shown = resolve({"threshold": 0.3}, {"chi-sim.k": 0.8}, environment={}).as_json()
    assert list(shown) == [*SETTINGS, "set.chi-sim.k"]
    assert shown["threshold"] == {"value": 0.3, "origin": "flag"}
    assert shown["set.chi-sim.k"] == {"value": 0.8, "origin": "flag"}
    json.dumps(shown, allow_nan=False)


def test_a_file_may_use_flat_names_and_tables(tmp_path: Path) -> None:
    chosen = of_file(
        tmp_path,
        'lang = "fr"\nstable = 9\n[placement]\nmeasure = "cosine"\nthreshold = 1\n'
        "[network]\nwindow = 5\n[store]\nwait = 0\n",
    )
    assert chosen.reading.lang == "fr" and chosen.maintenance.stable == 9
    assert chosen.placement.measure == "cosine" and chosen.network.window == 5
    assert type(chosen.placement.threshold) is float and type(chosen.store.wait) is float
    assert chosen.origins["placement"] == f"file {tmp_path / 'mine.toml'}"


def test_a_flat_name_of_a_section_is_still_a_value(tmp_path: Path) -> None:
    chosen = of_file(tmp_path, 'store = "a.db"\nplacement = "cosine"\n')
    assert (chosen.store.path, chosen.placement.measure) == ("a.db", "cosine")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[placment]\nthreshold = 0.2\n", r"no section \[placment\].*did you mean 'placement'"),
        ("[placement]\ntreshold = 0.2\n", r"in \[placement\].*did you mean 'threshold'"),
        ("[network]\nnetwork_window = 5\n", r"'network_window' is called 'window' in \[network\]"),
        ("threshold = 0.1\n[placement]\nthreshold = 0.2\n", "threshold is given twice"),
        ("[placement]\nthreshold = 2\n", r"threshold=2 \(file .*\) should be a number from 0 to 1"),
        ("threshold = {}\n", r"threshold=\{\} \(file .*\) should be a number"),
        ("[maintenance]\nnarrow = 0.2\n", "did you mean 'split_similarity'"),
        ("set = 3\n", r"\[set\] should be a table"),
    ],
)
def test_a_wrong_table_is_explained(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        of_file(tmp_path, content)


# -- origins ---------------------------------------------------------------------------------


def test_flag_beats_environment_beats_file_beats_preset_beats_default(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('preset = "paper"\nthreshold = 0.4\nstable = 7\nlang = "fr"\n')
    chosen = resolve(
        {"lang": "en", "workers": None},
        file=str(path),
        environment={"SEGAPSITH_LANG": "fr", "SEGAPSITH_STABLE": "8", "SEGAPSITH_WORKERS": ""},
    )
    origins = {
        name: chosen.origins[name] for name in ("lang", "stable", "threshold", "min_weight", "wait")
    }
    assert origins == {
        "lang": "flag",
        "stable": "environment",
        "threshold": f"file {path}",
        "min_weight": "preset paper",
        "wait": "default",
    }
    assert (chosen.reading.lang, chosen.maintenance.stable) == ("en", 8)
    assert (chosen.placement.threshold, chosen.placement.min_weight) == (0.4, 0.0)
    assert chosen.origins["workers"] == "default"  # neither None nor an empty variable is a value


def test_the_preset_itself_follows_the_same_order(tmp_path: Path) -> None:
    chosen = of_file(tmp_path, 'preset = "paper"\n', preset="default")
    assert (chosen.preset, chosen.origins["preset"]) == ("default", "flag")
    assert chosen.placement.threshold == SETTINGS["threshold"].default


def test_every_preset_has_allowed_values_of_existing_settings() -> None:
    for preset, values in PRESETS.items():
        chosen = resolve({"preset": preset}, environment={})
        for name, value in values.items():
            if "." in name:
                assert chosen.plugins[name] == value
                assert chosen.origins[f"set.{name}"] == f"preset {preset}"
            else:
                assert chosen.values[name] == value


def test_settings_of_the_presets_plugin_do_not_go_to_another() -> None:
    chosen = resolve({"preset": "paper", "segmenter": "cohesion"}, environment={})
    assert chosen.plugins == {}


def test_later_settings_of_plugins_come_after_those_that_they_replace(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('preset = "paper"\n[set]\ncut_at = "likeness"\n[set.chi-sim]\nk = 0.8\n')
    chosen = resolve({}, {"segmenter.cut_at": "cohesion"}, file=str(path), environment={})
    assert list(chosen.plugins) == [
        "segmenter.inferred_min_share", "cut_at", "chi-sim.k", "segmenter.cut_at",
    ]  # fmt: skip
    assert chosen.origins["set.segmenter.cut_at"] == "flag"
    assert chosen.origins["set.chi-sim.k"] == f"file {path}"


# -- names -----------------------------------------------------------------------------------


def test_an_unknown_name_is_refused_with_the_likely_one(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="did you mean 'threshold'") as flag:
        resolve({"treshold": 0.3}, environment={})
    assert flag.value.setting == "treshold"
    with pytest.raises(ConfigurationError, match=r"mine\.toml: .*did you mean 'keep_daily'"):
        of_file(tmp_path, "keep_dayly = 3\n")


@pytest.mark.parametrize(("old", "new"), _RENAMED.items())
def test_an_old_name_is_answered_with_the_new_one(old: str, new: str) -> None:
    assert new in SETTINGS and old not in SETTINGS
    with pytest.raises(ConfigurationError, match=f"it is called '{new}' now"):
        resolve({old: 1}, environment={})


def test_no_two_settings_share_a_name_or_a_variable() -> None:
    assert len({s.variable for s in SETTINGS.values()}) == len(SETTINGS)
    assert len({(s.section, s.key) for s in SETTINGS.values()}) == len(SETTINGS)
    assert not SETTINGS.keys() & ENGINE.keys()


def test_a_missing_configuration_file_is_named() -> None:
    with pytest.raises(ConfigurationError, match=r"nowhere\.toml") as error:
        resolve(file="nowhere.toml", environment={})
    assert error.value.path == "nowhere.toml"


# -- values ----------------------------------------------------------------------------------


@pytest.mark.parametrize("setting", [*SETTINGS.values(), *ENGINE.values()], ids=lambda s: s.name)
def test_values_of_a_wrong_type_or_range_are_refused(setting: Setting) -> None:
    wrong: list[Any] = [None, [1], {}]
    if isinstance(setting.default, bool):
        wrong += ["maybe", 2]
    elif setting.choices:
        wrong += ["nothing of the kind", "", 3]
    elif setting.pattern:
        wrong += [0, -1, "", "a b", True]
    elif isinstance(setting.default, str):
        wrong += [3, True]
    else:
        assert setting.least is not None
        wrong += ["many", True, math.nan, math.inf, setting.least - 1, 10**400, "1e999"]
        wrong += [] if setting.most is None else [setting.most + 1]
        wrong += [] if setting.excluded is None else [setting.excluded]
        wrong += [2.5] if isinstance(setting.default, int) else []
    for value in wrong:
        with pytest.raises(SettingError) as error:
            checked(setting, value, "flag")
        assert str(error.value).startswith(f"{setting.name}={value!r} (flag) should be ")
        assert error.value.setting == setting.name


def allowed(setting: Setting) -> st.SearchStrategy[Value]:
    """Every value that a setting allows; texts without what a variable cannot hold."""
    if setting.choices:
        return st.sampled_from(setting.choices)
    if isinstance(setting.default, bool):
        return st.booleans()
    if setting.pattern:
        return st.from_regex(setting.pattern, fullmatch=True, alphabet=st.characters(codec="ascii"))
    if isinstance(setting.default, str):
        letters = st.characters(exclude_categories=["Cs", "Cc"])
        return st.text(letters, min_size=0 if setting.default == "" else 1, max_size=20)
    low, most = setting.least or 0, setting.most
    if isinstance(setting.default, int):
        return st.integers(int(low), None if most is None else int(most)).filter(setting.allows)
    return st.floats(low, most, allow_nan=False, allow_infinity=False).filter(setting.allows)


def written(value: Value) -> str:
    """A value as TOML writes it, which has no DEL in strings but its number."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_a_value_is_the_same_by_flag_variable_file_and_table(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(SETTINGS)))
    setting = SETTINGS[name]
    value = data.draw(allowed(setting))
    typed = value if isinstance(value, str) else json.dumps(value)
    with tempfile.TemporaryDirectory() as folder:
        flat, table = os.path.join(folder, "flat.toml"), os.path.join(folder, "table.toml")
        Path(flat).write_text(f"{name} = {written(value)}\n", encoding="utf-8")
        line = f"{setting.key or name} = {written(value)}\n"
        head = f"[{setting.section}]\n" if setting.section else ""
        Path(table).write_text(head + line, encoding="utf-8")
        results = [
            resolve({name: value}, environment={}),
            resolve({name: typed}, environment={}),
            resolve(environment={setting.variable: typed}),
            resolve(file=flat, environment={}),
            resolve(file=table, environment={}),
        ]
    for chosen in results:
        assert type(chosen.values[name]) is type(setting.default)
        assert chosen.values[name] == value
        assert chosen.values == results[0].values


def test_the_file_of_the_user_comes_after_that_of_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    own = tmp_path / "home" / ".config" / "segapsith" / "segapsith.toml"
    own.parent.mkdir(parents=True)
    own.write_text('threshold = 0.3\nstable = 9\n[set.lsa]\nk = 3\n[[notify]]\nto = "atom"\n')
    Path("segapsith.toml").write_text("threshold = 0.4\n[set.lsa]\nk = 4\n")
    for environment in ({"HOME": str(tmp_path / "home")}, {"XDG_CONFIG_HOME": str(own.parents[1])}):
        settings = resolve(environment=environment)
        assert settings.placement.threshold == 0.4 and settings.maintenance.stable == 9
        assert settings.origins["stable"] == f"file {own}"
        assert settings.plugins == {"lsa.k": 4}
        assert [target.name for target in settings.notify] == ["atom"]
    assert resolve(environment={"XDG_CONFIG_HOME": "relative"}).maintenance.stable == 15


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[notify]\nto = "atom"', "two brackets"),
        ("[[notify]]\nname = 'x'", "to = the name"),
        ("[[notify]]\nto = 'atom'\non = ['alarms']", "did you mean 'alarm'"),
        ("[[notify]]\nto = 'atom'\nsearch = 'x'", "need each other"),
        ("[[notify]]\nto = 'atom'\non = ['search']", "need each other"),
        ("[[notify]]\nto = 'atom'\n[[notify]]\nto = 'atom'", "a name of its own"),
        ("[[notify]]\nto = 'atom'\npath = ['a']", "should be a text"),
        ("[[notify]]\nto = 'atom'\non = []", "should be a list"),
    ],
)
def test_a_wrong_target_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("segapsith.toml").write_text(text)
    with pytest.raises(ConfigurationError, match=message):
        resolve(environment={})
