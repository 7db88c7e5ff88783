"""The stateful pipeline: arrivals, state, updates, runs, removal, the storage protocol."""
