"""What Python calls: open a store, ask it, change it, validate it."""
