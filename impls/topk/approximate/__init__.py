"""Approximate selection: most of the k largest, with a recall that is promised."""
