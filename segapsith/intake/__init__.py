"""A text before it is read: normalisation, language, notices, fingerprints, near-duplicates."""
