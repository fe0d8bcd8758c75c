"""A findings document, and a receipt that another machine can check: both from stored records alone."""
