"""Tiles on a device: the contract of an implementation that uses them, and times of the kernel alone."""

import math
import tempfile
from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from typing import Any

from kernel_tiles import KERNELS, build_call, case_of, differing, noted_launches

from harness.analysis.stats import Estimate, over_rounds
from harness.core.machine import usable_cores
from harness.core.median_interval import LEVEL, median, samples_needed
from harness.core.protocol import Job
from harness.worker.case_worker import CaseWorker
from harness.worker.frameworks import base as frameworks
from harness.worker.reference_worker import ReferenceWorker

MOST_ROUNDS = 200
SLOW = 1.5  # times the shortest: such a tile is timed in the least rounds only
MEMORY = 1 << 36  # bytes of a result, at most


class Device:
    """A GPU; `cpu` is Triton's interpreter, which tries the same steps without one."""

    def __init__(self, name: str, dtype: str) -> None:
        self.name, self.dtype = name, dtype
        self.framework: Any = frameworks.get("triton")
        self.framework.start(name, usable_cores(), wide=False)
        self.framework.start = lambda *_, **__: None  # by the workers again: it may import Triton anew
        self.references: dict[Any, ReferenceWorker] = {}
        self.folder = tempfile.TemporaryDirectory(prefix="seqsweep-tiles-")

    def fault(self, name: str, width: int, seq: int, tile: Any) -> str:
        """How the implementation breaks its contract with this tile; empty if it keeps it."""
        from impls.attention._triton_tiles import forced

        kernel = KERNELS[name]
        mode = "fwd" if kernel.mode == "fwd" else "fwd_bwd"
        case = case_of(kernel, self.dtype, width, seq, mode, self.name)
        semantics = build_call(kernel, self.dtype, width, seq, self.name).implementation.semantics
        if case not in self.references:
            folder = tempfile.mkdtemp(dir=self.folder.name)
            module = f"impls.attention.{kernel.module}"
            job = Job("case", "triton", module, case, "tiles", folder, 0, usable_cores(), MEMORY)
            self.references[case] = ReferenceWorker(job)
            self.references[case].do_inputs(1)
            self.references[case].do_reference(semantics, 1)
        reference = self.references[case]
        with forced(name, tile):
            tried = CaseWorker(reference.job)
            tried.do_prepare(0)
            tried.do_check(None if mode == "fwd" else f"cotangent-{semantics}", "result")
        verdict = reference.do_judge(semantics, "set0", "result")
        return "" if verdict["correctness"]["passed"] else verdict["reason"]

    def times(
        self, name: str, width: int, seq: int, tiles: Sequence[Any], end: float
    ) -> dict[Any, list[float]]:
        """Seconds of the kernel alone with each tile, one sample per round, until `end`."""
        self.framework.release_memory()
        calls = self._calls(name, width, seq, tiles)
        read, samples = self.framework.timer().read, {tile: list[float]() for tile in calls}
        needed, rounds = samples_needed(level(len(tiles))), 0
        while rounds < MOST_ROUNDS and (rounds < needed or monotonic() < end):
            first = rounds % len(calls)
            order = [*calls][first:] + [*calls][:first]
            # Counters are set back between the timed calls.
            steps = [step for tile in order for step in (calls[tile][0], calls[tile][1])]
            for tile, seconds in zip(order, read(steps, 1, None)[1::2], strict=True):
                samples[tile].append(seconds)
            rounds += 1
            if rounds == needed:
                limit = SLOW * min(median(samples[tile]) for tile in calls)
                calls = {t: call for t, call in calls.items() if t == tiles[0] or median(samples[t]) <= limit}
        return samples

    def broken(self) -> str:
        """Why the device executes nothing more, for example after an illegal access; empty if it does."""
        try:
            self.framework.sync(None)
        except Exception as error:  # CUDA's own
            return str(error).partition("\n")[0]
        return ""

    def _calls(self, name: str, width: int, seq: int, tiles: Sequence[Any]) -> dict[Any, Callable[[], Any]]:
        """Tile → a call that repeats its launches of the kernel, on the tensors of a whole call."""
        from harness.worker.frameworks.torch.arrays import empty
        from harness.worker.frameworks.torch.binding import bind
        from impls.attention._triton_tiles import forced

        kernel, noted = KERNELS[name], dict[Any, Any]()
        self.framework.enter(kernel.mode, wide=False)
        inputs: dict[str, Any] = {}
        for tile in tiles:
            with forced(name, tile), noted_launches(running=True) as noted[tile]:
                built = build_call(kernel, self.dtype, width, seq, self.name)
                for each in built.names if not inputs else ():
                    inputs[each] = empty(built.shapes[each], self.framework.device).normal_()
                bind(built.function, built.names, kernel.mode, inputs, None)()
                self.framework.sync(None)
        present, *others = tiles
        launched = {tile: differing(noted[tile], noted[present]) for tile in others}
        launched = {tile: launches for tile, launches in launched.items() if launches}
        if not launched:
            raise ValueError("at this length all candidates have the launch of the present tile")
        launched = {present: differing(noted[present], noted[next(iter(launched))]), **launched}
        calls = {}
        for tile, launches in launched.items():
            changed = [each for launch in launches for each in launch.changed]
            calls[tile] = (
                lambda changed=changed: [each.copy_(before) for each, before in changed],
                lambda launches=launches: [launch.call() for launch in launches],
            )
            for call in calls[tile]:
                call()
        return calls


def level(compared: int) -> float:
    """The level of one interval of several, by Bonferroni: the fastest is chosen by the same samples."""
    return 1 - (1 - LEVEL) / max(1, compared - 1)


def against(samples: Mapping[Any, Sequence[float]], present: Any) -> dict[Any, Estimate]:
    """Tile → its time divided by the present tile's in the same rounds, of those that were not dropped."""
    base = samples[present]
    return {
        tile: over_rounds(
            [math.log(mine / theirs) for mine, theirs in zip(times, base, strict=False)],
            level=level(len(samples)),
        ).map(math.exp)
        for tile, times in samples.items()
        if tile != present
    }
