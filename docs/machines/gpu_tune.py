"""Choose the tiles of the attention kernels: `make gpu-tune`, four minutes on a GPU.

Candidates are compiled on all cores, ranked by their figures, and the best are checked by the contract and
timed against the present tile, in rounds. One of them replaces it in impls/attention/_triton_tiles.toml only
if the whole interval says that it is faster. Without a GPU, or with --target, nothing runs: the best figures
decide, and never replace what was measured. Ctrl-C keeps what is decided.

Exit code: 0 every kernel is decided, 1 the time was too short, 2 a wrong flag, 5 the machine lacks something,
130 after Ctrl-C.
"""

import argparse
import json
import math
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from multiprocessing import TimeoutError as TooLate
from multiprocessing import get_context
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1])]  # this checkout, from any folder

from kernel_tiles import KERNELS, Job, begin, candidates, case_of, compile_tile, plan_of, ranked  # noqa: E402

from harness.catalog.accelerators import accelerator_called, target  # noqa: E402
from harness.core.errors import SeqsweepError, Unsupported  # noqa: E402
from harness.core.machine import usable_cores  # noqa: E402
from harness.core.units import format_count, parse_count  # noqa: E402
from harness.core.version import version_of  # noqa: E402
from harness.worker.frameworks import base as frameworks  # noqa: E402
from harness.worker.frameworks.triton.environment import prepare_environment  # noqa: E402

KEY = ("dtype", "width", "capability", "seq")  # what a line of the table holds for
DTYPES = ("half", "f32", "f64")
COLUMNS = (22, 6, 7, 10, 14, 14, 0)  # widths in characters
CHECKED = (1008, 1001)  # tokens: the second leaves over a part of a tile that is no multiple of 16


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> Any:
        self.exit(2, f"{self.prog}: {message}\n")


def flags(words: Sequence[str] | None) -> argparse.Namespace:
    parser = Parser("gpu_tune.py", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    add = parser.add_argument
    add("--only", nargs="+", choices=KERNELS, default=[*KERNELS], metavar="KERNEL", help=", ".join(KERNELS))
    add("--widths", nargs="+", type=int, default=[128, 64], help="of heads; default: 128 64")
    add("--lengths", nargs="+", type=_count, default=[4096, 65536], help="default: 4Ki 64Ki")
    add("--dtype", choices=("bf16", "f16", "f32", "f64"), default="bf16")
    add("--minutes", type=float, default=4.0, help="on a GPU; default: 4")
    add("--keep", type=int, default=4, help="candidates that are timed; default: 4")
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
        return parse_count(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def gpu_here() -> list[str] | None:
    """Name and compute capability of the first GPU, without CUDA, because processes are forked later."""
    query = ["nvidia-smi", "--query-gpu=name,compute_cap", "--format=csv,noheader"]
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

    def workload(self, kernel: str, width: int, seq: int) -> Any:
        case = case_of(KERNELS[kernel], self.given.dtype, width, seq, "fwd", "cuda")
        return self.table.AttentionWorkload(**dict(case.workload))

    def line(self, kernel: str, width: int, seq: int) -> dict[str, Any]:
        """The table's present line."""
        return self.table.line_of(*kernel.split("."), self.workload(kernel, width, seq), self.generation)

    def compiled(self, pool: Any) -> Iterator[tuple[str, int, dict[Any, Any]]]:
        """(kernel, width, tile → its figures by length, or why it has none), in order."""
        given, waiting = self.given, list[Any]()
        for width in given.widths:
            for kernel in given.only:
                present = self.table.Tile(*self.line(kernel, width, given.lengths[0])["tile"])
                job = Job(kernel, given.dtype, width, tuple(given.lengths), present, None, self.target)
                if self.gpu:  # the other kernels, too
                    pool.apply_async(compile_tile, [job])
                answers = {}
                for tile in candidates(KERNELS[kernel], width, present, self.architecture):
                    if tile == present or not given.figures:
                        other = present._replace(warps=2 * present.warps) if tile == present else present
                        answers[tile] = pool.apply_async(compile_tile, [job._replace(tile=tile, other=other)])
                waiting.append((kernel, width, answers))
        for kernel, width, answers in waiting:
            latest = monotonic() + self.share() * len(given.lengths) / 2 if self.gpu else None
            yield kernel, width, {tile: _answer(each, latest) for tile, each in answers.items()}

    def share(self) -> float:
        """Seconds for each decision that is left."""
        return max(0.0, self.end - monotonic()) / max(1, self.left)

    def decide(self, kernel: str, width: int, answers: dict[Any, Any]) -> None:
        """Choose a kernel's tile at each length, and write it into the table."""
        before = next(iter(answers))
        for place, seq in enumerate(self.given.lengths):
            found = {tile: each[place] for tile, each in answers.items() if not isinstance(each, str)}
            found = {tile: figures for tile, figures in found.items() if figures}
            plans = {tile: plan_of(figures, tile, self.architecture) for tile, figures in found.items()}
            order, line = ranked(plans), self.line(kernel, width, seq)
            present = self.table.Tile(*line["tile"])
            if self.device:
                tried = dict.fromkeys([present, *order[: self.given.keep], before])
                choice = self._measured(kernel, width, seq, list(tried))
            else:
                choice = self._planned(line, present, order, found)
            if choice.label is not None:
                self._write(kernel, line, width, seq if place else None, choice)
            self.left -= 1
            show(kernel, width, format_count(seq), f"{len(found)} of {len(answers)}", present, *choice[::2])

    def _planned(self, line: dict[str, Any], present: Any, order: Sequence[Any], found: Any) -> Choice:
        best = present if self.given.figures or not order else order[0]
        if "measured" in line and line["capability"] == self.generation:
            return Choice(present, None, "measured before")
        if best not in found:
            return Choice(present, None, "it does not compile")
        if best == present and line["capability"] != self.generation:
            return Choice(present, None, "stays, as on older GPUs")
        figures = found[best]
        label = {
            "target": self.target,
            "triton": version_of("triton"),
            "registers": max(each.registers for each in figures),
            "spilled": max(each.spilled_bytes for each in figures),
            "wgmma": min(each.instructions.get("wgmma", 0) for each in figures),
            "blocks": min(each.blocks_per_sm for each in figures),
        }
        why = "its figures are the best" if order else "every tile spills or does not fit"
        return Choice(best, {"plan": label}, "figures only" if self.given.figures else why)

    def _measured(self, kernel: str, width: int, seq: int, tried: list[Any]) -> Choice:
        from kernel_times import against, over_rounds, winner

        present, end = tried[0], monotonic() + self.share()
        faults = {tile: self._fault(kernel, width, CHECKED[0], tile) for tile in tried}
        if faults[present]:
            return Choice(present, None, f"the present tile is wrong: {faults[present]}")
        correct = [tile for tile in tried if not faults[tile]]
        if len(correct) < 2:
            return Choice(present, None, "no other candidate is correct")
        samples = self.device.times(kernel, width, seq, correct, end)
        ratios = against(samples, present)
        best, *others = sorted(ratios, key=lambda tile: ratios[tile].value)
        speedup = ratios[best].inverse
        shown = f"{_spell(best)} is {speedup.value:.3f}× ({speedup.low:.3f} to {speedup.high:.3f}) as fast"
        if winner(ratios) != best:
            return Choice(present, None, f"stays; {shown}")
        if fault := self._fault(kernel, width, CHECKED[1], best):
            return Choice(present, None, f"stays; {shown}, but wrong: {fault}")
        label = {
            "device": self.gpu[0] if self.gpu else self.device.name,
            "triton": version_of("triton"),
            "seq": seq,
            "microseconds": [round(1e6 * (x or 0), 2) for x in over_rounds(samples[best])[:3]],
            "speedup": [round(x or 0, 4) for x in speedup[:3]],
            "over": list(present),
            "runner_up": list(next(iter(others), present)),
        }
        return Choice(best, {"measured": label}, shown)

    def _fault(self, kernel: str, width: int, seq: int, tile: Any) -> str:
        try:
            return self.device.fault(kernel, width, seq, tile)
        except Exception as error:  # what a launch raises
            return f"{type(error).__name__}: {error}".splitlines()[0]

    def _write(self, kernel: str, line: dict[str, Any], width: int, seq: int | None, choice: Choice) -> None:
        """Replace the line of this dtype, width, GPU and length, or add it."""
        room, name = kernel.split(".")
        lines, key = self.table.TABLE[room][name], key_of(line)
        if choice.tile != self.table.Tile(*line["tile"]):
            key = {"dtype": line["dtype"], "width": width, "capability": self.generation}
            key |= {"seq": seq} if seq else {}
        lines[:] = [each for each in lines if key_of(each) != key]
        lines.append({**key, "tile": list(choice.tile), **(choice.label or {})})
        lines.sort(key=_order)
        comment = [text for text in self.table.FILE.read_text().splitlines() if text.startswith("#")]
        fresh = self.file.with_suffix(".new")
        fresh.write_text("\n".join([*comment, "", text_of(self.table.TABLE)]))
        fresh.replace(self.file)


def key_of(line: dict[str, Any]) -> dict[str, Any]:
    """What a line holds for."""
    return {name: line[name] for name in KEY if name in line}


def _order(line: dict[str, Any]) -> tuple[Any, ...]:
    return DTYPES.index(line["dtype"]), line["capability"], line.get("width", math.inf), line.get("seq", 0)


def text_of(table: Mapping[str, Mapping[str, Sequence[dict[str, Any]]]]) -> str:
    """The table in TOML, with a line for each tile."""
    rooms = (
        "\n".join([f"[{room}]", *(f"{name} = [\n{_lines(lines)}]" for name, lines in kernels.items())])
        for room, kernels in table.items()
    )
    return "\n\n".join(rooms) + "\n"


def _lines(lines: Sequence[dict[str, Any]]) -> str:
    return "".join(f"  {_inline(line)},\n" for line in lines)


def _inline(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name} = {_inline(each)}" for name, each in value.items()) + "}"
    return json.dumps(value)


def _answer(result: Any, latest: float | None) -> Any:
    """A compiler's answer, if it comes in time."""
    try:
        return result.get(None if latest is None else max(0.0, latest - monotonic()))
    except TooLate:
        return "not compiled in time"


def show(*cells: Any) -> None:
    print("".join(f"{_spell(cell):<{size}}" for cell, size in zip(cells, COLUMNS, strict=True)), flush=True)


def _spell(cell: Any) -> str:
    return "x".join(map(str, cell)) if isinstance(cell, tuple) else str(cell)


def main(words: Sequence[str] | None = None) -> int:
    given = flags(words)
    try:
        prepare_environment(interpret=False)
    except Unsupported as missing:
        print(f"gpu_tune.py: {missing}")
        return 5
    frameworks.preload(["triton"])  # for all processes that compile
    gpu = None if given.target else gpu_here()
    tuning = Tuning(given, gpu)
    what = f"{given.minutes:g} minutes on {gpu[0]}" if gpu else f"no run: by figures for {tuning.target}"
    print(f"{what}, Triton {version_of('triton')}, {given.dtype}; into {tuning.file}")
    show("kernel", "width", "seq", "compiled", "before", "tile", "")
    cores = max(1, usable_cores() - (2 if gpu else 0))
    with get_context("fork").Pool(cores, begin, [tuning.architecture]) as pool:
        try:
            return tune(tuning, pool)
        except KeyboardInterrupt:
            print(f"stopped; {tuning.file} has what was decided")
            return 130


def tune(tuning: Tuning, pool: Any) -> int:
    """Decide one kernel after the other, until the time is up."""
    answers = tuning.compiled(pool)
    if tuning.gpu:
        from kernel_times import Device

        tuning.device = Device("cuda", tuning.given.dtype)
    for kernel, width, found in answers:
        if tuning.gpu and monotonic() > tuning.end:
            print(f"the time is up before {kernel} at width {width}; run again with --only, or --minutes")
            return 1
        tuning.decide(kernel, width, found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
