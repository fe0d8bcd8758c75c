"""Native sparse attention as MSLK #296 means it: a selection for each tile of queries and head."""
