"""Static figures of XLA programs, for targets that need not be present. Programs are not run.

`figures` is the entry point. `libtpu_module` is needed only until jaxlib can read the pinned libtpu's
modules. Loaded only in compiling processes, with jax. Imports catalog, core and cubin.
"""
