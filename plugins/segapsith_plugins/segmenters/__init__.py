"""Built-in segmenters."""
