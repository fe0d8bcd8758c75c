"""What a gate says of its outcome: the words, a table and an explanation. They decide nothing."""
