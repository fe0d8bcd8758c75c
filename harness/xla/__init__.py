"""What XLA says of a program for a target, which need not be at hand: nothing here runs one.

`figures` is the door; `libtpu_module` and `protobuf` are there for one pinned libtpu and go when
jaxlib reads it. Loaded in compiling processes only, with jax. Imports catalog and core.
"""
