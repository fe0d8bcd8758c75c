"""How long the threads of this process wait for a core: what a busy machine takes from a reading.

A barrier between threads makes a whole call wait for the one thread that is not running. All readings may
then be slow alike, so that no spread shows it: beside one busy program a call of 0.5 ms took 8 ms each time.
"""

from contextlib import suppress
from pathlib import Path
from time import perf_counter

TASKS = Path("/proc/self/task")


class RunQueue:
    """Observes from its creation on."""

    def __init__(self) -> None:
        self.begun, self.before = perf_counter(), waited_seconds()

    def share(self) -> float | None:
        """Seconds that its threads were ready but not running, in units of the time since; None: unknown."""
        waited = waited_seconds()
        if self.before is None or waited is None:
            return None
        return max(0.0, waited - self.before) / (perf_counter() - self.begun)


def waited_seconds() -> float | None:
    """Seconds so far of all living threads; None where the kernel does not count them.

    It is the second number of schedstat, which the kernel keeps without CONFIG_SCHEDSTATS, too
    (Documentation/scheduler/sched-stats.rst).
    """
    waited_ns: list[int] = []
    for task in TASKS.iterdir() if TASKS.exists() else ():
        with suppress(OSError, ValueError, IndexError):  # a thread that ends meanwhile
            waited_ns.append(int((task / "schedstat").read_text().split()[1]))
    return sum(waited_ns) / 1e9 if waited_ns else None
