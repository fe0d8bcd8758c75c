"""Worker processes: they build, compile, verify and time cases.

Only this package and xla load a framework. The runner never imports it, but sends requests over a socket
(`core/protocol`). It imports catalog and core, and xla in processes that compile.
"""
