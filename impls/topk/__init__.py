"""The k largest scores of every row, exact or approximate with a promised recall."""
