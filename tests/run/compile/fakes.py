"""A fake compile worker that returns prepared results."""

from dataclasses import dataclass, field

from harness.core.case import Case
from harness.core.record import Cost
from harness.core.static_figures import Static
from harness.run.compile import CompileResult
from harness.sweep.settings import Settings

MIB = 2**20
SETTINGS = Settings(memory_bytes=64 * MIB, threads=2)


def case(implementation="mask/scatter", seq=1024):
    workload = {"batch": 1, "dtype": "f32", "rows": 4, "seq": seq, "topk": 32}
    return Case.of(implementation, {}, workload)


def answer(temp=MIB, **changes):
    figures = Static(
        argument_bytes=MIB,
        output_bytes=MIB,
        temp_bytes=temp,
        alias_bytes=0,
        unavailable=dict.fromkeys(("peak_bytes", "flops", "bytes_accessed"), "not counted"),
    )
    return CompileResult("ok", figures, cost=Cost(flops=7.0), facts={"approximation": "none"}, **changes)


@dataclass
class FakeLane:
    """Compiles by looking up: `acts` by (implementation, seq, target), else a plan of 1 MiB."""

    acts: dict = field(default_factory=dict)
    compiled: list = field(default_factory=list)
    closed: bool = False
    threads: int = SETTINGS.threads

    def compile(self, ask, settings):
        assert settings.threads == self.threads
        self.compiled.append((ask.case.implementation, ask.case.seq, ask.target))
        act = self.acts.get(self.compiled[-1], answer())
        if isinstance(act, BaseException):
            raise act
        return act(ask) if callable(act) else act

    def interrupt(self):
        """Nothing of it ever takes time."""

    def close(self):
        self.closed = True
