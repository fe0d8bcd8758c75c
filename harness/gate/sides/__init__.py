"""The two sides of a gate: which commit the base is, where its code lies, which cases correspond.

Git runs in a clean environment; worktrees lie in a temporary folder that is removed afterwards. Nothing
here compiles or measures.
"""
