"""Names of the top level of IPTC Media Topics, by the codes that stories carry.

The vocabulary is © IPTC, CC BY 4.0 (see NOTICE). Only its 17 top-level topics are here. The older
Subject Codes begin with the same two digits, so that any of them has its top-level topic, too. The
lower levels of Media Topics (200…) are not numbered by their place and have no name here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["MEDIA_TOPICS", "top_level_codes", "topic_name"]

MEDIA_TOPICS: dict[str, tuple[str, str]] = {
    "01000000": (
        "arts, culture, entertainment and media",
        "arts, culture, divertissement et médias",
    ),
    "02000000": ("crime, law and justice", "criminalité, droit et justice"),
    "03000000": (
        "disaster, accident and emergency incident",
        "catastrophes, accidents et urgences",
    ),
    "04000000": ("economy, business and finance", "économie, affaires et finances"),
    "05000000": ("education", "éducation"),
    "06000000": ("environment", "environnement"),
    "07000000": ("health", "santé"),
    "08000000": ("human interest", "gens, animaux, insolite"),
    "09000000": ("labour", "travail"),
    "10000000": ("lifestyle and leisure", "mode de vie et loisirs"),
    "11000000": ("politics and government", "politique et gouvernement"),
    "12000000": ("religion", "religion"),
    "13000000": ("science and technology", "science et technologie"),
    "14000000": ("society", "société"),
    "15000000": ("sport", "sport"),
    "16000000": ("conflict, war and peace", "conflits, guerre et paix"),
    "17000000": ("weather", "météo"),
}
"""Code to English name and French name; the French names are translations of this project."""

_CODE = re.compile(r"(?:\S*[:/])?(\d{2})\d{6}(?:\s|$)")


def top_level_codes(subjects: Iterable[object]) -> list[str]:
    """Return the top-level codes among the subjects of a story, each once, in their order.

    >>> top_level_codes(["medtop:04000000 economy", "15054000", "medtop:20000344", "weather"])
    ['04000000', '15000000']
    """
    codes: dict[str, None] = {}
    for subject in subjects:
        match = _CODE.match(subject) if isinstance(subject, str) else None
        code = f"{match[1]}000000" if match else ""
        if code in MEDIA_TOPICS:
            codes[code] = None
    return list(codes)


def topic_name(code: str, lang: str = "en") -> str:
    """Return the name of a top-level code, in French for French stories, otherwise in English.

    >>> topic_name("17000000"), topic_name("17000000", "fr")
    ('weather', 'météo')
    """
    english, french = MEDIA_TOPICS[code]
    return french if lang == "fr" else english
