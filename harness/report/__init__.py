"""Layer 4: what people read: tables, live progress, charts, documents. Records in, text out."""
