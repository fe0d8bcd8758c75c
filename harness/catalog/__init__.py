"""The catalog of what can be run: families, implementations, contracts, accelerators, and their discovery.

`face` is the public interface for implementers, `from harness import …`: names there must not change.
Registration loads no framework. Imports core alone.
"""
