"""Built-in clusterers."""
