"""Layer 3: pure functions over records. Nothing here reads a file or prints."""
