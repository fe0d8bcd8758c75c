"""What can be run: families, implementations, contracts and accelerators, and how they are found.

`family`, `implementation`, `contract`, `check` and `arrays` are the face that `from harness import …`
hands to implementers: do not rename there. Registering loads no framework. Imports core alone.
"""
