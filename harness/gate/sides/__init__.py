"""The two sides of a gate: the base's commit, its worktrees, and the matching of cases.

Git runs in a clean environment. Worktrees are in a temporary folder that is removed afterwards. Nothing here
compiles or measures.
"""
