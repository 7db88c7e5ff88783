"""Built-in annotators."""
