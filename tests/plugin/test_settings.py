"""Settings of plugins go to exactly one plugin in use, or are refused with the likely spelling."""

from __future__ import annotations

import pytest

from segapsith.errors import SettingError
from segapsith.plugin.settings import PluginInUse, assign

CHI_SIM = PluginInUse("similarity", "chi-sim", ["k", "iterations"])
AHC = PluginInUse("clusterer", "ahc", ["k", "linkage"])
ENGINE = PluginInUse("engine", "engine", ["threshold"])


def test_a_setting_is_assigned_by_plugin_by_role_or_by_its_name_alone() -> None:
    given = {"chi-sim.k": 0.8, "clusterer.k": 3, "linkage": "ward"}
    assert assign(given, [CHI_SIM, AHC]) == {
        "similarity": {"k": "chi-sim.k"},
        "clusterer": {"k": "clusterer.k", "linkage": "linkage"},
    }


def test_a_bare_name_of_two_plugins_is_refused_with_both_spellings() -> None:
    with pytest.raises(SettingError, match=r"write chi-sim\.k or ahc\.k") as error:
        assign({"k": 3}, [CHI_SIM, AHC])
    assert "similarity 'chi-sim' and of clusterer 'ahc'" in str(error.value)
    assert error.value.setting == "k"


def test_two_plugins_of_one_name_are_told_apart_by_role() -> None:
    twin = PluginInUse("clusterer", "chi-sim", ["k"])
    with pytest.raises(SettingError, match=r"write similarity\.k or clusterer\.k"):
        assign({"chi-sim.k": 3}, [CHI_SIM, twin])
    assert assign({"similarity.k": 3}, [CHI_SIM, twin])["similarity"] == {"k": "similarity.k"}


def test_a_later_key_replaces_an_earlier_one_of_the_same_meaning() -> None:
    assert assign({"clusterer.k": 3, "ahc.k": 4}, [AHC]) == {"clusterer": {"k": "ahc.k"}}


def test_an_unknown_setting_names_the_likely_one() -> None:
    with pytest.raises(SettingError, match=r"no chosen plugin has a setting 'linkge'.*'linkage'"):
        assign({"linkge": 1}, [CHI_SIM, AHC])
    with pytest.raises(SettingError, match="clusterer 'ahc' has no setting 'iterations'") as error:
        assign({"ahc.iterations": 1}, [CHI_SIM, AHC])
    assert error.value.plugin == "ahc"
    with pytest.raises(SettingError, match=r"^engine has no setting 'k'"):
        assign({"engine.k": 1}, [ENGINE, AHC])


def test_a_plugin_that_is_not_in_use_is_refused_as_a_flag_and_left_out_of_a_file() -> None:
    with pytest.raises(SettingError, match=r"no plugin in use is called 'chi-sim' \(in use: clu"):
        assign({"chi-sim.k": 0.8}, [AHC], installed={"chi-sim", "ahc"})
    left = assign(
        {"chi-sim.k": 0.8, "segmenter.min_words": 9},
        [AHC],
        optional={"chi-sim.k", "segmenter.min_words"},
        installed={"chi-sim", "ahc"},
    )
    assert left == {"clusterer": {}}


def test_a_misspelt_plugin_is_refused_in_a_file_too() -> None:
    with pytest.raises(SettingError, match="did you mean 'chi-sim'"):
        assign({"chi-smi.k": 1}, [AHC], optional={"chi-smi.k"}, installed={"chi-sim", "ahc"})
