"""A checkout's command line: `python cli.py …` is `seqsweep …`, which harness/commands/ declares."""

import sys

try:
    from harness.commands.app import main
except KeyboardInterrupt:  # while it loads, which takes a second
    sys.stderr.write("seqsweep: stopped\n")
    sys.exit(130)

if __name__ == "__main__":
    main()
