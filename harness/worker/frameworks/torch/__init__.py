"""torch, eager: its calls, their clocks and counts, and static figures from a trace over fake tensors."""
