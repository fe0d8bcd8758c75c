"""Static figures by XLA of programs for targets that need not be at hand: nothing here runs a program.

`figures` is the entry point. `libtpu_module` is needed only until jaxlib can read the pinned libtpu's
modules. Loaded in compiling processes only, with jax. Imports catalog, core and cubin.
"""
