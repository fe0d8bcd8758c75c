"""Approximate selection: most of the k largest, with a promised recall."""
