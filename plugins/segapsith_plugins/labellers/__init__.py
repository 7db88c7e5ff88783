"""Built-in labellers."""
