"""Records in a third of the bytes: without defaults, readings as ticks, shared fields written once."""
