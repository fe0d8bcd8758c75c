"""Static gate: compares static figures and contracts of both sides, without timing."""
