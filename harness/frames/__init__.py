"""Stored runs as pandas DataFrames: `from seqsweep import load`.

Records are taken one by one and leave only their figures in columns, so that memory holds no record. Imports
pandas, so it is itself imported only where a DataFrame is asked for.
"""
