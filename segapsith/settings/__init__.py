"""Settings: typed sections, checked once, with the origin of every value.

People use flat names (`threshold = 0.2`, `SEGAPSITH_THRESHOLD`), or tables in the file
(`[placement]`). Code uses sections: `settings.placement.threshold`.
"""

from __future__ import annotations

from segapsith.settings.notify import NOTICE_KINDS, NotifyTarget
from segapsith.settings.resolution import FILE, Settings, resolve
from segapsith.settings.sections import (
    ANNOTATOR,
    BAG_SOURCE,
    BUILT_IN_PLACEMENT,
    CLUSTERER,
    CLUSTERER_MEASURES,
    ENGINE,
    LINKAGE,
    PLAIN_SIMILARITY,
    PRESETS,
    SECTION_CLUSTERER,
    SECTION_SIMILARITY,
    SECTIONS,
    SEGMENTER,
    SERIAL,
    SETTINGS,
    TOPIC_CLUSTERER,
    TOPIC_SIMILARITY,
    HttpSection,
    LabelsSection,
    LoggingSection,
    MaintenanceSection,
    NetworkSection,
    NightlySection,
    ParallelSection,
    PlacementSection,
    ReadingSection,
    StoreSection,
    ValidationSection,
)
from segapsith.settings.values import PluginValue, Setting, Value, checked, read_value

__all__ = [
    "ANNOTATOR",
    "BAG_SOURCE",
    "BUILT_IN_PLACEMENT",
    "CLUSTERER",
    "CLUSTERER_MEASURES",
    "ENGINE",
    "FILE",
    "LINKAGE",
    "NOTICE_KINDS",
    "PLAIN_SIMILARITY",
    "PRESETS",
    "SECTIONS",
    "SECTION_CLUSTERER",
    "SECTION_SIMILARITY",
    "SEGMENTER",
    "SERIAL",
    "SETTINGS",
    "TOPIC_CLUSTERER",
    "TOPIC_SIMILARITY",
    "HttpSection",
    "LabelsSection",
    "LoggingSection",
    "MaintenanceSection",
    "NetworkSection",
    "NightlySection",
    "NotifyTarget",
    "ParallelSection",
    "PlacementSection",
    "PluginValue",
    "ReadingSection",
    "Setting",
    "Settings",
    "StoreSection",
    "ValidationSection",
    "Value",
    "checked",
    "read_value",
    "resolve",
]
