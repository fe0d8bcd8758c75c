"""The indexer's attention mask: a mask over all columns, computed from the selected columns of every row."""
