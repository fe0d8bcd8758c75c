"""What selection stands between: scores by an indexer, and attention over what was selected."""
