"""A checkout's command line: `python cli.py …` is `seqsweep …`, which harness/commands/ declares."""

from harness.commands.app import main

if __name__ == "__main__":
    main()
