"""YAML as values that know their line: bench.yaml and claims.yaml are read alike, and err alike."""
