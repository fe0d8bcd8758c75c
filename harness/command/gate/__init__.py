"""`gate`: what its flags ask for, the two ways to answer, and where the answer goes."""
