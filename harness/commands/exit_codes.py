"""Exit codes: an exception becomes one sentence on stderr and a documented code; former words."""

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

FORMER_WORDS = {
    "claims --shard": "claims compiles what is missing, and keeps it in results/compiled",
    "collect --check": "collect joins complete shards alone, and says which are absent or not whole",
    "doctor --noise": "gate --self-check says which slowdown a gate can catch on this machine",
    "doctor --self-check": "make drill-overhead compares the harness with plain loops, in a checkout",
    "export bencher": "export --to csv has time_s, time_low_s and time_high_s of each case",
    "export github-action-benchmark": "export --to csv has time_s, time_low_s and time_high_s of each case",
    "export markdown": "report --pr writes a receipt of a run as Markdown, and report its whole document",
    "gate --resume": "a gate takes minutes, and one that was interrupted is run again",
    "gate --update": "gate --static compares with the base alone; accept: takes a change that is meant",
    "history": "runs CASE shows a case over all runs of this machine",
    "machines": "doctor --on NAME says which machines are there, and why one is refused",
    "profile --cold": "a first call is timed from outside, as by hyperfine 'python my_script.py'",
    "run --figures": "static compiles every case, and says what each plans",
    "run --max-seq": "static --max-seq finds the longest length whose planned memory fits",
    "sensitivity --factor": "the table has each ratio to the first distribution with its interval",
    "sentinel": "static --against py:OLD compares every figure with another environment's",
    "static --stages": "profile counts and times stages; static has the FLOPs and bytes of the whole call",
}


def refuse_former_words(words: Sequence[str]) -> None:
    """UsageError for a command or flag that existed in an earlier version."""
    command = "".join(words[:1])
    for word in (command, *(f"{command} {word.partition('=')[0]}" for word in words[1:])):
        if instead := FORMER_WORDS.get(word):
            raise UsageError(f"{word} was removed: {instead}")


STALE, NOTHING, INCORRECT, STOPPED = 1, 3, 4, 130


def refusal_of(error: OSError) -> str:
    """A sentence on an error of the machine that no layer below has turned into one."""
    why = error.strerror or str(error)
    if error.filename is None:
        return f"the machine refuses: {why}"
    return f"{os.fsdecode(error.filename)}: {why}; mend that, or name another place"


def call_app(app: typer.Typer, words: Sequence[str]) -> int:
    """Run the command that the words name; its exit code."""
    try:
        streams.prepare()
        refuse_former_words(words)
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
    except BrokenPipeError:  # its reader has seen enough
        code = MachineError.exit_code
        streams.discard_output()
    except Exception as error:
        code = MachineError.exit_code
        if why := streams.output_failure(error):
            print_error(f"seqsweep: standard output cannot be written ({why})")
            streams.discard_output()
        elif isinstance(error, OSError):
            print_error(f"seqsweep: {refusal_of(error)}")
        else:  # a fault of this program. Python would end with 1, which means stale or regressed here
            traceback.print_exc()
    return code or 0
