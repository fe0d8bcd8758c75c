"""torch, eager: its calls, their clocks and counts, and figures from a trace over fake tensors."""
