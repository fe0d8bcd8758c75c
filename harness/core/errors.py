"""The errors outside a measurement, each with its exit code.

A failure *inside* a case (out of memory, a hang, a wrong result) is a result, not an exception: see
:mod:`harness.core.record`.
"""

import difflib
from collections.abc import Generator, Iterable
from contextlib import contextmanager


class SeqsweepError(Exception):
    """An error the user can act on: one sentence, with a remedy."""

    exit_code = 5


class UsageError(SeqsweepError):
    """The command line, bench.yaml or a plugin is wrong."""

    exit_code = 2


class MachineError(SeqsweepError):
    """The machine is the problem: results not writable, disk full, device locked, framework missing."""

    exit_code = 5


class SideError(SeqsweepError):
    """A side of a gate does not load, or loads from another folder, so that it cannot be judged."""

    exit_code = 4


class ScratchFull(Exception):  # noqa: N818 - a statement by a worker about its machine, not an error of it
    """Raised by a worker if its folder has no room for more arrays, which is not the case's fault."""


class Unsupported(Exception):  # noqa: N818 - a statement by an implementation, not an error of it
    """Raised by an implementation or a workload that cannot run a point; names the reason."""


class FamilyFault(Exception):  # noqa: N818 - a statement by a worker about a family, not an error of it
    """Raised by a worker if a family's code fails; it names the part, and its cause is the error."""


@contextmanager
def family_code(part: str = "") -> Generator[None]:
    """Turn exceptions of a family's code into FamilyFault, except Unsupported."""
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


def reports_oom(text: str) -> bool:
    """Whether a message reports exhausted memory."""
    return any(word in text.lower() for word in OOM_WORDS)


def closest(word: str, known: Iterable[str]) -> str:
    """`; nearest: "scatter"` for a typo; empty without a near word."""
    close = difflib.get_close_matches(word, sorted(known), n=1, cutoff=0.6)
    return f'; nearest: "{close[0]}"' if close else ""


def nearest(word: str, known: Iterable[str], listed_by: str = "") -> str:
    """`; nearest: "scatter"` for a typo, or the known words if none is near.

    If there are too many words for an error, it names the command `listed_by` that lists them.
    """
    words = sorted(known)
    if len(words) <= MOST_WORDS or not listed_by:
        all_known = f"; known: {', '.join(words)}" if words else ""
    else:
        all_known = f"; list all {len(words)} with {listed_by}"
    return closest(word, words) or all_known


def require_member(name: str, value: str | None, known: tuple[str, ...]) -> None:
    """ValueError unless a value is one of the known ones."""
    if value not in known:
        raise ValueError(f'{name} "{value}" is not one of {", ".join(known)}')


def decode_utf8(data: bytes, file: str) -> str:
    """The text of a file's bytes. UsageError names the line that is not UTF-8."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UsageError(
            f"{file}:{line}: byte 0x{data[error.start]:02x} is not UTF-8; save the file as UTF-8"
        ) from None
