"""Plugins by somebody else, one of each kind that changes what is learned."""
