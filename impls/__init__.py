"""The families: one folder each, one short file per variant. Import `harness` and their own family only."""
