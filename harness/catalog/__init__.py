"""The catalog: families, implementations, contracts, accelerators, model presets, and their discovery.

`face` is the public interface for implementers (`from harness import …`), so its names must not change.
Registration loads no framework. Imports only core.
"""
