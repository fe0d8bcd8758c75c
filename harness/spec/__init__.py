"""Layer 0: the words of the project as plain data. Standard library only."""
