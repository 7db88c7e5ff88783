"""What a plugin promises, and how it is found, made and guarded."""
