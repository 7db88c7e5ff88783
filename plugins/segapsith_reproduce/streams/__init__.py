"""Labelled streams: what is learned from them, other clusterings of them, and their scores."""
