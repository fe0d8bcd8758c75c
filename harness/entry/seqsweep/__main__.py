"""`python -m seqsweep …` is `seqsweep …`."""

from . import main

main()
