"""The two sides of a gate: which commit the base is, where its code lies, which case answers to which.

Git is only asked, in a clean environment; worktrees lie in a temporary folder that is gone afterwards.
Nothing here compiles or measures.
"""
