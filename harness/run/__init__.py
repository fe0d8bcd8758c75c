"""Layer 3, the runner's own process: it decides what runs when, and loads no framework."""
