"""YAML as values that know their line: a bench.yaml and flags are read alike, and err alike."""
