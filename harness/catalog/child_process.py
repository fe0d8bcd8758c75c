"""Child processes that import registered code, because an import may hang, exit or do anything else.

The child prints only its answer, as JSON, on stdout; the last line on stderr is its error.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

from harness.catalog.source_hash import PACKAGES
from harness.core.errors import SeqsweepError
from harness.core.paths import ENTRY, PACKAGE, PROJECT
from harness.core.shown_text import message_of

MOVE_WORK = "move code from the module's top level into the builders"
REFUSED = 65  # the child's exit status if its last line on stderr is the error


class NoAnswer(Exception):  # noqa: N818 - callers convert it to their own errors
    """The reason why the child gave no answer, as a sentence."""


def environment(path: Sequence[str] = ()) -> dict[str, str]:
    """The environment of a process that imports this harness.

    The folders of `path`, if given, come first and must contain the harness. This harness's own folder is
    then left out, because the packages next to it may be for another interpreter. The current folder comes
    last, so that a plugin called select.py does not shadow Python's module.
    """
    inherited = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    own = [str(PROJECT), str(ENTRY)]
    parts = [*(path or own), *inherited, str(Path.cwd())]
    folders = os.pathsep.join(dict.fromkeys(filter(None, parts)))
    return {**os.environ, "PYTHONSAFEPATH": "1", "PYTHONPATH": folders}


def ask(
    words: Sequence[str],
    seconds: float,
    *,
    path: Sequence[str] = (),
    interpreter: str = sys.executable,
    remedy: str = MOVE_WORK,
) -> Any:
    """The data that `interpreter -m WORDS` prints. NoAnswer, with the remedy, if it prints none."""
    # Files, not pipes: a pipe stays open until the last process that a plugin has started ends.
    with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        try:
            child = subprocess.Popen(
                [interpreter, "-m", *words],
                env={**environment(path), "JAX_PLATFORMS": "cpu"},
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
            )
        except OSError as error:
            raise NoAnswer(f"{interpreter} does not start: {error.strerror}") from None
        try:
            status = child.wait(seconds)
        except subprocess.TimeoutExpired:
            raise NoAnswer(f"it took more than {seconds:g} s; {remedy}") from None
        finally:
            with suppress(ProcessLookupError):
                # The group may outlive its leader, with processes that the plugin has started.
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()
        stdout.seek(0)
        data = stdout.read()
        if status == 0 and data:
            try:
                return json.loads(data)
            except ValueError:
                raise NoAnswer(f"it corrupts the answer of its process; {remedy}") from None
        size = stderr.seek(0, os.SEEK_END)
        stderr.seek(max(0, size - 4096))
        lines = stderr.read().decode(errors="replace").strip().splitlines()
    raise NoAnswer(_why(status, lines, remedy))


def _why(status: int, lines: list[str], remedy: str) -> str:
    if status == REFUSED and lines:
        return lines[-1]
    how = f"exit status {status}" if status >= 0 else signal.Signals(-status).name
    return f"importing it terminates the process ({how}); {remedy}"


def own_stdout() -> TextIO:
    """The real standard output, for the answer. Prints of registered code are redirected to stderr."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return out


def answer(describe: Callable[[], Any]) -> None:
    """The child's part: print what `describe` returns on stdout, and end this process."""
    out = own_stdout()
    try:
        described = describe()
        json.dump(described, out)
        out.close()
    except BaseException as error:  # an import may raise anything, SystemExit too
        print(f"\n{sentence(error)}", file=sys.stderr, flush=True)
        os._exit(REFUSED)
    os._exit(0)  # without waiting for threads that a plugin has started


def sentence(error: BaseException) -> str:
    """An error of registered code in one sentence, with the innermost line of that code."""
    if isinstance(error, SyntaxError):
        return f"{error.filename}:{error.lineno}: {error.msg}" if error.filename else error.msg
    if isinstance(error, SeqsweepError):
        text = str(error)
    else:
        text = ": ".join(filter(None, [type(error).__name__, message_of(error)]))
    return " ".join(f"{_place_outside(error)}{text}".split())


def _place_outside(error: BaseException) -> str:
    """`file.py:7: `, the innermost frame of an error outside of the harness, if any.

    Frames of the author's own code take precedence over those of installed packages.
    """
    own = ("<", f"{PACKAGE}{os.sep}")  # Python's own loader has no file
    places = [
        place for place in traceback.extract_tb(error.__traceback__) if not place.filename.startswith(own)
    ]
    authors = [place for place in places if PACKAGES.isdisjoint(Path(place.filename).parts)]
    innermost = (authors or places)[-1:]
    return "".join(f"{place.filename}:{place.lineno}: " for place in innermost)
