"""Claims: published numbers held against what this project counts, compiles and runs.

From a family's `claims.yaml` (read_yaml) to what its expressions need (needs), what was found out for
these (evidence, evaluate), the verdict (verdict, wording), and the terminal, JSON and pages (report, page).
Nothing here measures time, and nothing below imports this package.
"""
