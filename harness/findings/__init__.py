"""Findings documents and receipts, made from stored records. Another machine can check a receipt."""
