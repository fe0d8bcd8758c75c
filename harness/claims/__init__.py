"""Claims: published numbers checked against what this project counts, compiles and runs.

From a family's `claims.yaml` (read_yaml) to the needs of its expressions (needs), the evidence for them
(evidence, evaluate), the verdict (verdict, wording), and the terminal, JSON and pages (report, page).
Nothing here measures time, and only the command `claims` imports this package.
"""
