"""Stored runs as pandas DataFrames: `from seqsweep import load`.

Records are read one by one into columns, so that they do not stay in memory. This package imports pandas, so
it is imported only when a DataFrame is needed.
"""
