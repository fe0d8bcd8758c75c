"""Reports of a gate's outcome: sentences, tables and explanations."""
