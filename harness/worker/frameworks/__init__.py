"""numpy, torch and jax behind the same few verbs: see `base`. A process imports those it serves."""
