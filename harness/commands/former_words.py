"""Commands and flags of earlier versions, each with what does its work now."""

from collections.abc import Sequence

from harness.core.errors import UsageError

FORMER_WORDS = {
    "collect --check": "collect joins complete shards alone, and says which are absent or not whole",
    "history --out": "history prints a table, and --json has its medians and intervals to be drawn",
    "machines": "doctor --on NAME says which machines are there, and why one is refused",
    "profile --cold": "a first call is timed from outside, as by hyperfine 'python my_script.py'",
    "run --max-seq": "static --max-seq finds the longest length whose planned memory fits",
    "static --stages": "profile counts and times stages; static has the FLOPs and bytes of the whole call",
}


def refuse_former_words(words: Sequence[str]) -> None:
    """UsageError for a command or flag that existed in an earlier version."""
    command = "".join(words[:1])
    for word in (command, *(f"{command} {word.partition('=')[0]}" for word in words[1:])):
        if instead := FORMER_WORDS.get(word):
            raise UsageError(f"{word} was removed: {instead}")
