"""Metrics, comparison of partitions, batch clustering, validation, verdicts."""
