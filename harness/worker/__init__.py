"""Inside the measuring processes: build, compile, verify, and read the clock.

The only room besides xla that loads a framework. The runner speaks to it over a socket, in the words
of `core/protocol`, and never imports it; it imports catalog and core, and xla in a process that
compiles for targets.
"""
