"""Lists of selected blocks by themselves, and the transposed ones that a backward walks."""
