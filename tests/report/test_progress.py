import errno
import io
import threading

import pytest
from rich.console import Console

from harness.report.console import TextConsole
from harness.report.progress import Progress

GROUP = "mask@batch=1,dtype=f32,rows=128,seq=4096,topk=2048:fwd:cpu"
CASES = ("mask/broadcast@x:fwd:cpu", "mask/scatter@x:fwd:cpu")


class Hand:
    """A clock that the test advances."""

    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def out():
    return io.StringIO()


@pytest.fixture
def clock():
    return Hand()


@pytest.fixture
def terminal(out, clock):
    progress = Progress(3, Console(file=out, width=100, force_terminal=True), clock)
    yield progress
    progress.close()


def read_new(out):
    """The text written since the last call."""
    text = out.getvalue()
    out.truncate(0)
    out.seek(0)
    return text


def test_without_a_terminal_a_finished_group_is_one_plain_line(out, record):
    progress = Progress(3, Console(file=out, width=60))
    progress.group_started(0, GROUP, CASES, 90.0)
    progress.case_state(CASES[0], "compile")
    progress.pause()
    progress.resume()
    assert out.getvalue() == ""
    progress.group_finished([record("broadcast", 4096), record("scatter", 4096, "oom")], 80.0)
    progress.close()
    assert out.getvalue() == f"[1/3] {GROUP}: 1 ok, 1 oom, about 1 m 20 s left\n"


def test_a_case_may_be_added_while_the_others_are_drawn(terminal, out):
    class Added(str):
        """Adds another case when it is drawn, as the thread of a gate's other side may."""

        __slots__ = ()

        def split(self, *arguments):
            terminal.case_state("mask/threshold@x:fwd:cpu", "compile")
            return super().split(*arguments)

    terminal.group_started(0, GROUP, [Added(CASES[0])], None)
    assert "mask/broadcast  waiting" in read_new(out)


def test_a_terminal_shows_the_group_and_never_draws_while_a_sample_is_taken(terminal, out, clock):
    before = threading.active_count()  # other tests may have left some
    terminal.group_started(1, GROUP, CASES, 42.0)
    text = read_new(out)
    assert f"[2/3] {GROUP}, about 42 s left" in text
    assert "mask/scatter  waiting" in text
    clock.now = 0.05
    terminal.case_state(CASES[0], "round 1")
    assert read_new(out) == "", "at most every tenth of a second"
    clock.now = 0.15
    terminal.case_state(CASES[1], "round 1")
    assert "mask/broadcast  round 1" in read_new(out)
    terminal.pause()
    read_new(out)
    clock.now = 10.0
    terminal.case_state(CASES[0], "round 2")
    assert read_new(out) == ""
    terminal.resume()
    assert "mask/broadcast  round 2" in read_new(out)
    assert threading.active_count() == before, "no thread draws behind the runner's back"
    for _ in range(2):
        terminal.close()
    read_new(out)
    terminal.case_state(CASES[0], "round 3")
    assert read_new(out) == ""


class Refusing(io.StringIO):
    """A stream that fails after the first line, like a closed pipe or a full disk."""

    def __init__(self, number):
        super().__init__()
        self.number = number

    def write(self, text):
        if "\n" in self.getvalue():
            raise OSError(self.number, "refused")
        return super().write(text)


@pytest.mark.parametrize("number", [errno.EPIPE, errno.ENOSPC, errno.EIO])
@pytest.mark.parametrize("terminal", [False, True])
def test_a_closed_stream_does_not_end_a_run(number, terminal):
    out = Refusing(number)
    progress = Progress(3, TextConsole(file=out, width=100, force_terminal=terminal))
    for line in ("one", "two", "three"):
        progress.group_started(0, GROUP, CASES, None)
        progress.case_state(CASES[0], "compile")
        progress.message(line)
    progress.close()
    assert "three" not in out.getvalue()
