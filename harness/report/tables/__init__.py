"""Tables as data, and their layout on a terminal; every table uses `cells` and `render`."""
