"""DeepSeek's sparse attention: an indexer scores every key, and attention reads the picked ones."""
