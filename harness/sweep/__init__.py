"""Layer 2: what is to be run. bench.yaml and the flags become an ordered schedule of cases."""
