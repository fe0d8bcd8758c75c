"""A room per framework, each behind the interface of `base`. A process imports those it serves."""
