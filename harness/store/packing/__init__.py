"""Records in a third of the bytes: without defaults, readings as ticks, and what they share said once."""
