"""Exit codes: what a command raises becomes one sentence on stderr and a documented code."""

from __future__ import annotations

import traceback
from collections.abc import Sequence

import typer
from typer.exceptions import TyperException

from harness.core.errors import MachineError, SeqsweepError, UsageError

NOTHING, INCORRECT, STOPPED = 3, 4, 130


def call_app(app: typer.Typer, words: Sequence[str]) -> int:
    """Run the command that the words name; its exit code."""
    try:
        code = app(words, prog_name="seqsweep", standalone_mode=False)
    except SeqsweepError as error:
        typer.echo(f"seqsweep: {error}", err=True)
        code = error.exit_code
    except TyperException as error:
        problem = getattr(error, "format_message", error.__str__)().rstrip(".")
        typer.echo(f"seqsweep: {problem}; see seqsweep COMMAND --help", err=True)
        code = UsageError.exit_code
    except (KeyboardInterrupt, typer.Abort):
        typer.echo("seqsweep: stopped", err=True)
        code = STOPPED
    except SystemExit as end:  # typer's: 0 after completion; 1 for a closed pipe, but 1 means regressed
        code = MachineError.exit_code if end.code else 0
    except Exception:  # a fault of this program, or of where it prints to; Python's own code is 1, too
        traceback.print_exc()
        code = MachineError.exit_code
    return code or 0
