"""Selection in context: an indexer that computes scores, and attention over what was selected."""
