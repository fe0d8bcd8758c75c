"""Eager torch: calls, timers, operator counts, and static figures from a trace over fake tensors."""
