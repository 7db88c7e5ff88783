"""Questions that people ask of a store."""
