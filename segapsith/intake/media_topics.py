"""Names of IPTC Media Topics, by the codes that stories carry.

The vocabulary is © IPTC, CC BY 4.0 (see NOTICE). Here are its 17 top-level topics and the names of
the second level. The older Subject Codes begin with the two digits of their top-level topic. The
first edition of Media Topics numbered the lower levels (200…) branch by branch. So a code between
two second-level topics of one branch belongs to that branch. Codes that are newer, or that lie
between two branches, have no topic here unless they are of the second level.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

__all__ = ["MEDIA_TOPICS", "SECOND_LEVEL", "named_codes", "top_level_codes", "topic_name"]

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

SECOND_LEVEL: dict[str, dict[str, str]] = {
    "01000000": {
        "20000002": "arts and entertainment",
        "20000038": "culture",
        "20000045": "mass media",
    },
    "02000000": {
        "20000082": "crime",
        "20000106": "judiciary",
        "20000119": "justice",
        "20000121": "law",
        "20000129": "law enforcement",
    },
    "03000000": {
        "20000139": "accident and emergency incident",
        "20000148": "disaster",
        "20000168": "emergency response",
    },
    "04000000": {
        "20000170": "business information",
        "20000209": "economic sector",
        "20000344": "economy",
        "20000385": "market and exchange",
    },
    "05000000": {
        "20000398": "parents group",
        "20000399": "religious education",
        "20000400": "school",
        "20000410": "social learning",
        "20000412": "curriculum",
        "20000413": "educational testing and examinations",
        "20000414": "entrance examination",
        "20000415": "students",
        "20000416": "teachers",
        "20001216": "vocational education",
        "20001217": "educational grading",
        "20001337": "online and remote learning",
        "20001338": "education policy",
    },
    "06000000": {
        "20000418": "climate change",
        "20000420": "conservation",
        "20000424": "environmental pollution",
        "20000430": "natural resources",
        "20000441": "nature",
    },
    "07000000": {
        "20000446": "diseases and conditions",
        "20000461": "health facility",
        "20000463": "health organisations",
        "20000464": "health treatment",
        "20000480": "government health care",
        "20000483": "health insurance",
        "20000484": "private health care",
        "20000485": "medical profession",
        "20000493": "non-human diseases",
    },
    "08000000": {
        "20000498": "award and prize",
        "20000499": "record and achievement",
        "20000500": "animal",
        "20000501": "ceremony",
        "20000503": "human mishap",
        "20000504": "high society",
        "20000505": "celebrity",
        "20000507": "flowers and plants",
        "20001237": "anniversary",
        "20001238": "birthday",
    },
    "09000000": {
        "20000509": "employment",
        "20000521": "employment legislation",
        "20000523": "labour market",
        "20000524": "labour relations",
        "20000531": "retirement",
        "20000533": "unemployment",
        "20000536": "unions",
    },
    "10000000": {
        "20000538": "leisure",
        "20000565": "lifestyle",
        "20001339": "wellness",
    },
    "11000000": {
        "20000574": "election",
        "20000593": "government",
        "20000621": "government policy",
        "20000638": "international relations",
        "20000646": "non-governmental organisation",
        "20000647": "political crisis",
        "20000648": "political dissent",
        "20000649": "political process",
    },
    "12000000": {
        "20000657": "belief systems",
        "20000688": "religious conflict",
        "20000690": "religious festival and holiday",
        "20000696": "religious ritual",
        "20000697": "religious facility",
        "20000702": "relations between religion and government",
        "20000703": "religious leader",
        "20000705": "religious text",
    },
    "13000000": {
        "20000710": "biomedical science",
        "20000715": "mathematics",
        "20000717": "natural science",
        "20000735": "scientific research",
        "20000741": "scientific institution",
        "20000742": "social sciences",
        "20000755": "scientific standards",
        "20000756": "technology and engineering",
    },
    "14000000": {
        "20000587": "fundamental rights",
        "20000768": "communities",
        "20000770": "demographics",
        "20000771": "immigration",
        "20000772": "emigration",
        "20000775": "discrimination",
        "20000780": "family",
        "20000788": "mankind",
        "20000799": "social condition",
        "20000802": "social problem",
        "20000808": "values",
        "20000817": "welfare",
    },
    "15000000": {
        "20000822": "competition discipline",
        "20001103": "disciplinary action in sport",
        "20001104": "drug use in sport",
        "20001108": "sport event",
        "20001124": "sport industry",
        "20001125": "sport organisation",
        "20001126": "sport venue",
        "20001148": "sports transaction",
        "20001301": "sport achievement",
        "20001323": "sports coaching",
        "20001324": "sports management and ownership",
        "20001325": "sports officiating",
    },
    "16000000": {
        "20000053": "act of terror",
        "20000056": "armed conflict",
        "20000065": "civil unrest",
        "20000070": "coup d'etat",
        "20000071": "massacre",
        "20000073": "peace process",
        "20000077": "post-war reconstruction",
        "20000080": "prisoners of war",
    },
    "17000000": {
        "20001128": "weather forecast",
        "20001129": "weather phenomena",
        "20001130": "weather statistic",
        "20001131": "weather warning",
    },
}
"""Top-level code to the codes and English names of its second level."""

_FIRST_EDITION_END = "20001132"
_MOVED = {"20000587"}
"""Second-level topics that came from another branch: they say nothing about their neighbours."""

_BRANCHES = {
    top: (min(numbered), max(numbered))
    for top, names in SECOND_LEVEL.items()
    if (numbered := [code for code in names if code < _FIRST_EDITION_END and code not in _MOVED])
}
"""Top-level code to the first and the last code that certainly belong to it."""

_TOP_OF = {code: top for top, names in SECOND_LEVEL.items() for code in names}

_CODE = re.compile(r"(?:\S*[:/])?(\d{8})(?:\s|$)")


def top_level_codes(subjects: Iterable[object]) -> list[str]:
    """Return the top-level codes of the subjects of a story, each once, in their order.

    >>> top_level_codes(["medtop:17000000 weather", "15054000", "medtop:20000346", "weather"])
    ['17000000', '15000000', '04000000']
    """
    return list(dict.fromkeys(filter(None, map(_top_level, _codes(subjects)))))


def named_codes(subjects: Iterable[object]) -> list[str]:
    """Return the codes with a name: those of the top level, then those of the second level.

    >>> named_codes(["medtop:20000344", "medtop:20000346"])
    ['04000000', '20000344']
    """
    given = list(subjects)
    second = [code for code in _codes(given) if code in _TOP_OF]
    return [*top_level_codes(given), *dict.fromkeys(second)]


def _codes(subjects: Iterable[object]) -> Iterator[str]:
    for subject in subjects:
        match = _CODE.match(subject) if isinstance(subject, str) else None
        if match:
            yield match[1]


def _top_level(code: str) -> str:
    """Return the top-level code above a code, or an empty text if it is not known."""
    if code in _TOP_OF:
        return _TOP_OF[code]
    if code.startswith("200"):
        return next((top for top, (a, b) in _BRANCHES.items() if a <= code <= b), "")
    top = f"{code[:2]}000000"
    return top if top in MEDIA_TOPICS else ""


def topic_name(code: str, lang: str = "en") -> str:
    """Return the name of a code; a top-level topic has a French name, too, for French stories.

    >>> topic_name("17000000"), topic_name("17000000", "fr"), topic_name("20001131")
    ('weather', 'météo', 'weather warning')
    """
    if code in _TOP_OF:
        return SECOND_LEVEL[_TOP_OF[code]][code]
    english, french = MEDIA_TOPICS[code]
    return french if lang == "fr" else english
