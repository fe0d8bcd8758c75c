"""Choose the tiles of the attention kernels: `make gpu-tune`, four minutes on a GPU.

Candidates are compiled on all cores, ranked by their figures, and the best are checked by the contract and
timed against the present tile, in rounds. One of them replaces it in impls/attention/_triton_tiles.toml only
if the whole interval says that it is faster. Without a GPU, or with --target, figures decide, the interpreter
checks the contract, and what was measured stays. Ctrl-C keeps what is decided.

Exit code: 0 every kernel is decided, 1 the time was too short, 2 a wrong flag, 5 the machine lacks something,
130 after Ctrl-C.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from itertools import product
from multiprocessing import TimeoutError as TooLate
from multiprocessing import get_context
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1])]  # this checkout, from any folder

import tile_table  # noqa: E402
from kernel_tiles import KERNELS, Job, begin, candidates, case_of, compile_tile, ranked  # noqa: E402

from harness.catalog.accelerators import accelerator_called, target  # noqa: E402
from harness.core.errors import SeqsweepError, Unsupported  # noqa: E402
from harness.core.machine import usable_cores  # noqa: E402
from harness.core.units import format_count, parse_count  # noqa: E402
from harness.core.version import version_of  # noqa: E402
from harness.worker.frameworks import base as frameworks  # noqa: E402
from harness.worker.frameworks.triton.environment import prepare_environment  # noqa: E402

COLUMNS = (22, 6, 7, 10, 14, 14, 0)  # widths in characters
INTERPRETED = {1008: 336, 1001: 321, 1088: 320}  # tokens of the checks without a GPU


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> Any:
        self.exit(2, f"{self.prog}: {message}\n")


def flags(words: Sequence[str] | None) -> argparse.Namespace:
    parser = Parser("gpu_tune.py", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    add = parser.add_argument
    add("--only", nargs="+", choices=KERNELS, default=[*KERNELS], metavar="KERNEL", help=", ".join(KERNELS))
    add("--widths", nargs="+", type=_count, default=[128, 64], help="of heads; default: 128 64")
    add("--lengths", nargs="+", type=_count, default=[4096, 65536], help="default: 4Ki 64Ki")
    add("--dtype", choices=("bf16", "f16", "f32", "f64"), default="bf16")
    add("--minutes", type=float, default=4.0, help="on a GPU; default: 4")
    add("--keep", type=_count, default=4, help="candidates that are timed; default: 4")
    add("--target", help="compile for this GPU and run nothing; without a GPU: cuda:h100")
    add("--figures", action="store_true", help="keep every tile; only write its figures on the target")
    add("--into", type=Path, help="the table to write; default: that of the kernels")
    given = parser.parse_args(words)
    try:
        if given.target and target(given.target).capability is None:
            raise Unsupported(f"{given.target} is no GPU; use for example cuda:h100")
    except (SeqsweepError, Unsupported) as error:
        parser.error(f"--target: {error}")
    given.lengths.sort()
    return given


def _count(text: str) -> int:
    try:
        if count := parse_count(text):
            return count
        raise ValueError(f"{text} is too few")
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def gpu_here() -> list[str] | None:
    """Name and compute capability of the first visible GPU, without CUDA: processes are forked later."""
    first = os.environ.get("CUDA_VISIBLE_DEVICES", "0").partition(",")[0]
    query = ["nvidia-smi", f"--id={first}", "--query-gpu=name,compute_cap", "--format=csv,noheader"]
    try:
        done = subprocess.run(query, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.splitlines()[0].split(", ") if done.returncode == 0 and done.stdout else None


class Choice(NamedTuple):
    """The tile of a kernel, the label with which the table says so (None leaves its line), and why."""

    tile: Any
    label: dict[str, Any] | None
    why: str


class Tuning:
    """The table that is being written, the kernels' candidates, and the device that times them, if any."""

    def __init__(self, given: argparse.Namespace, gpu: list[str] | None) -> None:
        from impls.attention import _triton_tiles as table

        known = accelerator_called(gpu[0]) if gpu else None
        here = known.name if known else f"cuda:sm_{gpu[1].replace('.', '')}" if gpu else "cuda:h100"
        self.given, self.gpu, self.table, self.target = given, gpu, table, given.target or here
        self.architecture = int(str(target(self.target).capability).replace(".", ""))
        self.generation = table.generation(self.architecture)
        self.file, self.end = given.into or table.FILE, monotonic() + 60 * given.minutes
        self.left = len(given.only) * len(given.widths) * len(given.lengths)  # decisions
        self.device: Any = None
        self.faults: dict[Any, str] = {}  # by kernel, width, length and tile

    def line(self, kernel: str, width: int, seq: int) -> dict[str, Any]:
        """The table's present line."""
        case = case_of(KERNELS[kernel], self.given.dtype, width, seq, "fwd", "cuda")
        workload = self.table.AttentionWorkload(**dict(case.workload))
        return self.table.line_of(*kernel.split("."), workload, self.generation)

    def compile(self, pool: Any) -> list[tuple[str, int, dict[Any, Any]]]:
        """(kernel, width, tile → its figures by length to come), the present tile first."""
        given, waiting = self.given, list[Any]()
        for width, kernel in product(given.widths, given.only):
            present = self.table.Tile(*self.line(kernel, width, given.lengths[0])["tile"])
            job = Job(kernel, given.dtype, width, tuple(given.lengths), present, None, self.target)
            if self.gpu:  # the kernels beside it
                pool.apply_async(compile_tile, [job])
            tried = candidates(KERNELS[kernel], width, present, self.architecture)
            others = dict.fromkeys(tried[:1] if given.figures else tried, present)
            others[present] = present._replace(warps=2 * present.warps)
            jobs = {tile: job._replace(tile=tile, other=other) for tile, other in others.items()}
            waiting.append((kernel, width, {t: pool.apply_async(compile_tile, [j]) for t, j in jobs.items()}))
        return waiting

    def answers(self, waiting: dict[Any, Any]) -> dict[Any, Any]:
        """The compilers' answers; on a GPU those that come in half of the kernel's time."""
        latest = monotonic() + self.share() * len(self.given.lengths) / 2
        found = {}
        for tile, result in waiting.items():
            try:
                found[tile] = result.get(max(0.0, latest - monotonic()) if self.gpu else None)
            except TooLate:
                found[tile] = "not compiled in time"
        return found

    def share(self) -> float:
        """Seconds for each decision that is left."""
        return max(0.0, self.end - monotonic()) / max(1, self.left)

    def decide(self, kernel: str, width: int, answers: dict[Any, Any]) -> None:
        """Choose a kernel's tile at each length, and write it into the table."""
        before = next(iter(answers))
        for place, seq in enumerate(self.given.lengths):
            known = ((tile, each) for tile, each in answers.items() if not isinstance(each, str))
            found = {tile: each[place] for tile, each in known if each[place]}
            order = ranked(found, self.architecture, by_key=KERNELS[kernel].by_key)
            line = self.line(kernel, width, seq)
            present = self.table.Tile(*line["tile"])
            if self.gpu:
                others = [tile for tile in order if tile != present][: self.given.keep]
                tried = dict.fromkeys([present, *others, before])
                choice = self._measured(kernel, width, seq, list(tried))
            else:
                choice = self._planned(kernel, width, line, order, found)
            if choice.label is not None:
                key = tile_table.key_of(line)
                if choice.tile != present:
                    key = {"dtype": line["dtype"], "width": width, "capability": self.generation}
                    key |= {"seq": seq} if place else {}
                room, name = kernel.split(".")
                tile_table.put(self.table.TABLE[room][name], key, choice.tile, choice.label)
            tile_table.write(self.table.TABLE, self.table.FILE, self.file)
            self.left -= 1
            show(kernel, width, format_count(seq), f"{len(found)} of {len(answers)}", present, *choice[::2])

    def _planned(self, kernel: str, width: int, line: Any, order: Sequence[Any], found: Any) -> Choice:
        present = self.table.Tile(*line["tile"])
        if "measured" in line and line["capability"] == self.generation:
            return Choice(present, None, "measured before")
        order = [] if self.given.figures else order
        interpreted = [INTERPRETED[seq] for seq in KERNELS[kernel].checked]
        correct = (t for t in order if t == present or not self._fault(kernel, width, interpreted, t))
        best = next(correct, present)
        if best not in found:
            return Choice(present, None, "stays; it has no figures")
        if best == present and line["capability"] != self.generation:
            return Choice(present, None, "stays, as on older GPUs")
        figures = found[best]
        label = {
            "target": self.target,
            "triton": version_of("triton"),
            "width": width,
            "registers": max(each.registers for each in figures),
            "spilled": max(each.spilled_bytes for each in figures),
            "wgmma": min(each.instructions.get("wgmma", 0) for each in figures),
            "blocks": min(each.blocks_per_sm for each in figures),
        }
        return Choice(best, {"plan": label}, "its figures are the best" if order else "its figures are new")

    def _measured(self, kernel: str, width: int, seq: int, tried: list[Any]) -> Choice:
        from kernel_times import against, over_rounds

        present, end, checked = tried[0], monotonic() + self.share(), KERNELS[kernel].checked
        faults = {tile: self._fault(kernel, width, checked[:1], tile) for tile in tried}
        if faults[present]:
            return Choice(present, None, f"is wrong, so nothing is compared: {faults[present]}")
        correct = [tile for tile in tried if not faults[tile]]
        if len(correct) < 2:
            return Choice(present, None, "stays; no other candidate is left")
        try:
            samples = self.device.times(kernel, width, seq, correct, end)
        except Exception as error:  # what a launch raises
            return Choice(
                present, None, f"stays; not timed: {type(error).__name__}: {error}".partition("\n")[0]
            )
        ratios = against(samples, present)
        best, *others = sorted(ratios, key=lambda tile: ratios[tile].value)
        value, low, high = ratios[best].inverse[:3]
        shown = (
            f"{_spell(best)} is {value:.3f}× ({low:.3f} to {high:.3f}) as fast, {len(samples[best])} rounds"
        )
        if low <= 1:
            return Choice(present, None, f"stays; {shown}")
        if fault := self._fault(kernel, width, checked, best):
            return Choice(present, None, f"stays; {shown}, but wrong: {fault}")
        label = {
            "device": self.gpu[0] if self.gpu else "",
            "triton": version_of("triton"),
            "width": width,
            "seq": seq,
            "microseconds": [round(1e6 * each, 2) for each in over_rounds(samples[best])[:3] if each],
            "speedup": [round(each, 4) for each in (value, low, high)],
            "over": list(present),
            "runner_up": list(next(iter(others), present)),
        }
        return Choice(best, {"measured": label}, shown)

    def _fault(self, kernel: str, width: int, lengths: Sequence[int], tile: Any) -> str:
        """How a tile breaks the contract, at the first of these lengths where it does."""
        for seq in lengths:
            place = kernel, width, seq, tile
            if place not in self.faults:
                try:
                    self.faults[place] = self.device.fault(*place)
                except Exception as error:  # what a launch raises
                    self.faults[place] = f"{type(error).__name__}: {next(iter(str(error).splitlines()), '')}"
            if self.faults[place]:
                return self.faults[place]
        return ""


def show(*cells: Any) -> None:
    print("".join(f"{_spell(cell):<{size}}" for cell, size in zip(cells, COLUMNS, strict=True)), flush=True)


def _spell(cell: Any) -> str:
    return "x".join(map(str, cell)) if isinstance(cell, tuple) else str(cell)


def main(words: Sequence[str] | None = None) -> int:
    given = flags(words)
    try:
        prepare_environment(interpret=False)
        frameworks.preload(["triton"])  # for all processes that compile
        gpu = None if given.target else gpu_here()
        tuning = Tuning(given, gpu)
        what = f"{given.minutes:g} minutes on {gpu[0]}" if gpu else f"no run: by figures for {tuning.target}"
        print(f"{what}, Triton {version_of('triton')}, {given.dtype}; into {tuning.file}")
        show("kernel", "width", "seq", "compiled", "before", "tile", "")
        # One core calls the kernels, and one is for the system.
        cores = max(1, usable_cores() - (2 if gpu else 0))
        with get_context("fork").Pool(cores, begin, [tuning.architecture]) as pool:
            return tune(tuning, tuning.compile(pool))
    except (SeqsweepError, Unsupported) as error:
        print(f"gpu_tune.py: {error}")
        return 5
    except KeyboardInterrupt:
        print("stopped; the table has what was decided")
        return 130


def tune(tuning: Tuning, waiting: Sequence[tuple[str, int, dict[Any, Any]]]) -> int:
    """Decide one kernel after the other, until the time is up."""
    if not tuning.given.figures:
        from kernel_times import Device

        tuning.device = Device("cuda" if tuning.gpu else "cpu", tuning.given.dtype)
    for kernel, width, results in waiting:
        if tuning.gpu and monotonic() > tuning.end:
            print(f"the time is up before {kernel} at width {width}; go on with --only, or more --minutes")
            return 1
        tuning.decide(kernel, width, tuning.answers(results))
        if tuning.gpu and (fault := tuning.device.broken()):
            print(f"the GPU answers no more after {kernel} ({fault}); go on with --only")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
