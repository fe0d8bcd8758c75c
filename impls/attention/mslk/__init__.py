"""Native sparse attention as MSLK #296 means it: one selection a query, and its forms."""
