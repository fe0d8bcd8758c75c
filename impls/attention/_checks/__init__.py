"""The family's checks: named properties that the contracts do not test."""
