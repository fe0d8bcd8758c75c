"""What is right, plainly and in high precision, for each semantics."""
