"""A findings document as one HTML page, which needs no network and says all of it without scripts."""
