"""Dense attention: every query reads every key before it."""
