"""Comparison of partitions: the public name of `segapsith.evaluation.compare`."""

from segapsith.evaluation.compare import *  # one list of names, in one place
