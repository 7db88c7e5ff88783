"""What pages ask: columns of the whole store in memory, stories, searches and differences."""
