"""The built-in plugins, one subject a file; they come in by the same door as everyone else's."""
