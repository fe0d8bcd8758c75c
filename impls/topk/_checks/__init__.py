"""The family's checks: named properties outside of any contract."""
