"""The errors before or around a measurement, each with its exit code.

What goes wrong *inside* a case (out of memory, a hang, a wrong answer) is a result, not an
exception: see :mod:`harness.core.record`.
"""

import difflib
from collections.abc import Generator, Iterable
from contextlib import contextmanager


class SeqsweepError(Exception):
    """An error the user can act on: one sentence, with a remedy."""

    exit_code = 5


class UsageError(SeqsweepError):
    """The command line, bench.yaml or a plugin asks for something that does not exist."""

    exit_code = 2


class MachineError(SeqsweepError):
    """The machine refuses: results not writable, disk full, lock held, framework missing."""

    exit_code = 5


class SideError(SeqsweepError):
    """A side of a gate does not load, or loads from elsewhere: nothing can be said about it."""

    exit_code = 4


class ScratchFull(Exception):  # noqa: N818 - a statement by a worker about its machine, not an error of it
    """Raised by a worker where its folder takes no more arrays: no fault of the case that it works on."""


class Unsupported(Exception):  # noqa: N818 - a statement by an implementation, not an error of it
    """Raised by an implementation or a workload that cannot take a point; names what is refused."""


class FamilyFault(Exception):  # noqa: N818 - a statement by a worker about a family, not an error of it
    """Raised by a worker where a family's own code fails; it names the part, and its cause is the error."""


@contextmanager
def family_code(part: str = "") -> Generator[None]:
    """Blame the family for what its own code raises, unless that is a refusal."""
    try:
        yield
    except Unsupported:
        raise
    except Exception as error:
        raise FamilyFault(part) from error


OOM_WORDS = (
    "resource_exhausted",
    "out of memory",
    "allocate memory",
    "bad_alloc",
    "unable to allocate",
)


MOST_WORDS = 16


def speaks_of_oom(text: str) -> bool:
    """Whether a message is one of the forms in which exhausted memory is reported."""
    return any(word in text.lower() for word in OOM_WORDS)


def closest(word: str, known: Iterable[str]) -> str:
    """`; nearest: "scatter"` for a typo; empty when nothing is near."""
    close = difflib.get_close_matches(word, sorted(known), n=1, cutoff=0.6)
    return f'; nearest: "{close[0]}"' if close else ""


def nearest(word: str, known: Iterable[str], listed_by: str = "") -> str:
    """`; nearest: "scatter"` for a typo, or the known words when nothing is near.

    Where they are too many to be read in an error, what they are listed by is named instead.
    """
    words = sorted(known)
    if len(words) <= MOST_WORDS or not listed_by:
        all_known = f"; known: {', '.join(words)}" if words else ""
    else:
        all_known = f"; {listed_by} names the {len(words)} that are known"
    return closest(word, words) or all_known


def require_member(name: str, value: str | None, known: tuple[str, ...]) -> None:
    """ValueError unless a field holds one of the words that it may hold."""
    if value not in known:
        raise ValueError(f'{name} "{value}" is none of {", ".join(known)}')


def decode_utf8(data: bytes, file: str) -> str:
    """The text of a file's bytes. UsageError names the line of what is no UTF-8."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UsageError(
            f"{file}:{line}: byte 0x{data[error.start]:02x} is not UTF-8; save the file as UTF-8"
        ) from None
