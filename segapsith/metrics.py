"""Scores of clusterings and segmentations: the public name of `segapsith.evaluation.metrics`."""

from segapsith.evaluation.metrics import *  # one list of names, in one place
