"""Layer 2: what was measured. Records as checked lines of an append-only file, one folder per run."""
