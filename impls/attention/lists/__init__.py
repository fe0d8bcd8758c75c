"""Lists of selected blocks as a separate stage, and the transposed lists that a backward reads."""
