"""What can be run: families, implementations, contracts and accelerators, and how they are found.

`face` lists what `from harness import …` hands to implementers: do not rename there. Registering loads no
framework. Imports core alone.
"""
