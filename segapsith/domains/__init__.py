"""Online clustering, pure: index, placement, merging, splitting, reassignment, topics, explanation."""
