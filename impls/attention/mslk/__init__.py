"""Native sparse attention in MSLK #296's form: one selection for each tile of queries and head."""
