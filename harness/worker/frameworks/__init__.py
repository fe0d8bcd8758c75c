"""A room per framework, each behind the verbs of `base`. A process imports those it serves."""
