"""The indexer's attention mask: from the selected columns of every row to a mask over all columns."""
