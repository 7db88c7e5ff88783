"""Built-in similarities."""
