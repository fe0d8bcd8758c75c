"""The measuring processes: they build, compile and verify cases, and read the clock.

Besides xla, this is the only room that loads a framework. The runner talks to it over a socket, by
`core/protocol`, and never imports it. It imports catalog and core, and xla where a process compiles.
"""
