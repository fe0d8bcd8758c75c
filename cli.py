"""A checkout's command line: `python cli.py …` is `seqsweep …`, which harness/commands/app.py declares."""

from harness.commands.app import main

if __name__ == "__main__":
    main()
