"""How noisy this machine is: gates of equal sides, alone and under load, and what slowdown they can tell."""
