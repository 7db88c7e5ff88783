"""The built-in language packs: data in `segapsith/languages`, read when a language is met."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from segapsith.languages import BUILT_IN, LanguagePack, pack_of
from segapsith.plugin.hookspecs import hookimpl


@hookimpl
def register_languages() -> Mapping[str, Callable[[], LanguagePack]]:
    return {code: partial(pack_of, code) for code in BUILT_IN}
