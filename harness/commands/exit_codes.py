"""Exit codes: an exception becomes one sentence on stderr and a documented code."""

import os
import sys
import traceback
from collections.abc import Sequence

import typer
from typer.exceptions import TyperException

from harness.commands import streams
from harness.commands.streams import print_error
from harness.core.errors import MachineError, SeqsweepError, UsageError
from harness.core.stop_signals import terminable

FORMER_COMMANDS = {
    "history": "use runs CASE, which shows a case over all runs of this machine",
    "machines": "use doctor --on NAME, which checks the machines and explains a refusal",
    "sentinel": "use static --against py:OLD, which compares all figures with those of another environment",
}
STALE, NOTHING, INCORRECT, STOPPED = 1, 3, 4, 130


def refusal_of(error: OSError) -> str:
    """Describe an operating-system error that no layer below has described."""
    why = error.strerror or str(error)
    if error.filename is None:
        return f"the operating system reports: {why}"
    return f"{os.fsdecode(error.filename)}: {why}; fix that, or name another place"


def call_app(app: typer.Typer, words: Sequence[str]) -> int:
    """Run the command that the words name, and return its exit code."""
    try:
        streams.prepare()
        if instead := FORMER_COMMANDS.get("".join(words[:1])):
            raise UsageError(f"{words[0]} was removed; {instead}")
        with terminable():
            code = app(words, prog_name="seqsweep", standalone_mode=False)
        sys.stdout.flush()
    except SeqsweepError as error:
        print_error(f"seqsweep: {error}")
        code = error.exit_code
    except TyperException as error:
        problem = getattr(error, "format_message", error.__str__)().rstrip(".")
        print_error(f"seqsweep: {problem}; see seqsweep COMMAND --help")
        code = UsageError.exit_code
    except (KeyboardInterrupt, typer.Abort):
        print_error("seqsweep: stopped")
        code = STOPPED
    except SystemExit as end:  # typer's: 0 after completion; 1 for a closed pipe, but 1 means regressed
        code = MachineError.exit_code if end.code else 0
    except BrokenPipeError:  # the reader closed the pipe
        code = MachineError.exit_code
        streams.discard_output()
    except Exception as error:
        code = MachineError.exit_code
        if why := streams.output_failure(error):
            print_error(f"seqsweep: standard output cannot be written ({why})")
            streams.discard_output()
        elif isinstance(error, OSError):
            print_error(f"seqsweep: {refusal_of(error)}")
        else:  # a bug of this program. Python would exit with 1, which here means stale or regressed
            traceback.print_exc()
    return code or 0
