"""Commands and flags of earlier versions, each with what does its work now."""

from collections.abc import Sequence

from harness.core.errors import UsageError

FORMER_WORDS = {
    "collect --check": "collect joins complete shards alone, and says which are absent or not whole",
    "doctor --noise": "gate --self-check says which slowdown a gate can catch on this machine",
    "doctor --self-check": "make drill-overhead compares the harness with plain loops, in a checkout",
    "export bencher": "export --to csv has time_s, time_low_s and time_high_s of each case",
    "export github-action-benchmark": "export --to csv has time_s, time_low_s and time_high_s of each case",
    "gate --resume": "a gate takes minutes, and one that was interrupted is run again",
    "gate --update": "gate --static compares with the base alone; accept: takes a change that is meant",
    "history": "runs CASE shows a case over all runs of this machine",
    "machines": "doctor --on NAME says which machines are there, and why one is refused",
    "profile --cold": "a first call is timed from outside, as by hyperfine 'python my_script.py'",
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
