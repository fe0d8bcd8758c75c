"""This machine's noise: A/A gates (equal sides), alone and under load, and the slowdown they can detect."""
