"""`python -m seqsweep …` is the same as `seqsweep …`."""

from . import main

main()
