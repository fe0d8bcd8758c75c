"""The k largest scores of every row, exact or with a promised recall."""
