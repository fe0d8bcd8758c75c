"""What a compiler says of a program for a target, which need not be at hand: nothing here runs one."""
