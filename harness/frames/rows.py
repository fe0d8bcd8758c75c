"""The rows of each DataFrame, from records as they are read; columns.toml has the columns and dtypes."""

import math
import tomllib
from array import array
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from harness.analysis.filter import Selection
from harness.analysis.results import COUNTED, HOST, StepModel, body_only, label_of, static_of
from harness.analysis.suite_results import results_of
from harness.core.fingerprint_identity import device_name
from harness.core.grouped import collected
from harness.core.kernel_figures import ALL_PATHS, MATRIX_PATHS, KernelFigures, by_need, vmem_share
from harness.core.record import COUNTED_MODE, Record
from harness.core.static_figures import AnyKernel
from harness.core.workload import canonical
from harness.cubin.machine_code import CLASSES, OTHER

COLUMNS: Mapping[str, Mapping[str, list[str]]] = tomllib.loads(
    Path(__file__).with_name("columns.toml").read_text()
)
COMPUTED = "computed"
Described = tuple[Mapping[str, Any], Record]  # (run.json with the run's fingerprints, record)
ROUNDS = "rounds of one process"  # sampling unit of a record's interval
RATES = (  # column, work, time, unit of the work
    ("tflop_per_s", "flops", "time_s", 1e12),
    ("tflop_per_s_low", "flops", "time_high_s", 1e12),
    ("tflop_per_s_high", "flops", "time_low_s", 1e12),
    ("dense_tflop_per_s", "dense_flops", "time_s", 1e12),
    ("gb_per_s", "bytes", "time_s", 1e9),
)


class FrameBuilder:
    """A builder for one of COLUMNS, with additional columns whose dtype follows from their values.

    None and empty text are missing values: NaN in floats, NA or NaT elsewhere.
    """

    def __init__(self, name: str) -> None:
        self._columns = COLUMNS[name]
        sources = [source.partition(".") for _, source, _ in self._columns.values() if source]
        self._getters = [
            (part, itemgetter(field) if part == COMPUTED else attrgetter(field)) for part, _, field in sources
        ]
        self._rows: list[list[Any]] = []
        self._further: list[Mapping[str, Any]] = []

    def append(self, further: Mapping[str, Any], **parts: Any) -> None:
        """Add a row from the parts named by the sources; all values of a part that is None are missing.

        `further` maps additional columns to values.
        """
        self._rows.append([None if parts[part] is None else get(parts[part]) for part, get in self._getters])
        self._further.append(further)

    def frame(self) -> pd.DataFrame:
        """The table. Columns without a source are NaN; additional ones are `workload_NAME` if taken."""
        known = iter(zip(*self._rows, strict=True) if self._rows else [()] * len(self._getters))
        data = {
            name: _series(next(known) if source else [None] * len(self._rows), kind)
            for name, (kind, source, _) in self._columns.items()
        }
        for name in sorted({name for further in self._further for name in further}):
            values = [further.get(name) for further in self._further]
            data[f"workload_{name}" if name in data else name] = _infer(values)
        return pd.DataFrame(data, copy=False)


def _series(values: Sequence[Any], kind: str) -> pd.Series:
    if kind == "time":
        times = pd.to_datetime(list(values), utc=True, format="ISO8601", errors="coerce")
        return pd.Series(times.as_unit("us"))
    if kind in {"category", "str"}:
        return pd.Series([text or None for text in values], dtype="str").astype(kind)
    return pd.Series(values, dtype=kind)


def _infer(values: Sequence[Any]) -> pd.Series:
    """Integers, numbers or booleans if all values are; otherwise their spellings, as categories."""
    kinds = set(map(type, values)) - {type(None)}
    for allowed, kind in (({bool}, "boolean"), ({int}, "Int64"), ({int, float}, "float64")):
        if kinds and kinds <= allowed:
            return _series(values, kind)
    return _series([None if value is None else canonical(value) for value in values], "category")


def records_frame(pairs: Iterable[Described], *, rebased: bool) -> pd.DataFrame:
    """A row per record, with the fields of its workload. `rebased`: run.json has other baselines."""
    builder, known, baselines = FrameBuilder("frame"), None, set[str]()
    models: dict[str, list[StepModel]] = {}
    for info, record in pairs:
        if info is not known:
            suites = (info.get("suites") or {}).values()
            known, baselines = info, {suite.get("baseline") for suite in suites}
            described = [StepModel.of(model) for suite in suites for model in suite.get("models") or ()]
            models = collected((case, model) for model in described for case in model.cases)
        timing, static, label = record.timing, static_of((record,)), label_of(record)
        facts = info["fingerprints"].get(record.fingerprint) or {}
        flops, moved = (
            None if static is None or body_only(static, name) else getattr(static, name) for name in COUNTED
        )
        computed = {
            "options": label.removeprefix(record.implementation)[1:-1],
            "label": label,
            "baseline": label in baselines if rebased else record.baseline,
            "interval": ROUNDS if timing and timing.low_s is not None else None,
            "rounds": len(set(timing.round)) if timing else None,
            "readings": len(timing.samples_s) if timing else None,
            "target": HOST if static else None,
            "compiled_flops": flops,
            "compiled_bytes": moved,
            "model": "; ".join(model.label for model in models.get(record.case, ())) or None,
            "model_source": "; ".join(model.whole_origin for model in models.get(record.case, ())) or None,
            "machine": device_name(facts),
        }
        parts = {"record": record, "correctness": record.correctness, "timing": timing, "static": static}
        builder.append(record.workload, computed=computed, **parts)
    frame = builder.frame().drop(columns="workload_seq", errors="ignore")
    for column, work, time, unit in RATES:
        frame[column] = (frame[work] / frame[time] / unit).where(frame["mode"] == COUNTED_MODE)
    return frame


def samples_frame(pairs: Iterable[Described]) -> pd.DataFrame:
    """A row per sample."""
    cases, counts = FrameBuilder("samples"), array("q")
    rounds, samples = array("q"), array("d")  # millions of values: a list would take five times the memory
    for _, record in pairs:
        if record.timing is not None:
            cases.append({}, record=record, computed={"label": label_of(record)})
            counts.append(len(record.timing.samples_s))
            rounds.extend(record.timing.round)
            samples.extend(record.timing.samples_s)
    lengths = np.array(counts)
    frame = cases.frame().take(np.repeat(np.arange(len(lengths)), lengths)).reset_index(drop=True)
    firsts = np.repeat(np.cumsum(lengths) - lengths, lengths)
    frame["round"] = pd.array(np.array(rounds), dtype="Int64")
    frame["reading"] = pd.array(np.arange(len(frame)) - firsts, dtype="Int64")
    frame["sample_s"] = np.array(samples)
    return frame


def static_frame(pairs: Iterable[Described]) -> pd.DataFrame:
    """A row per record and target."""
    builder = FrameBuilder("static")
    for _, record in pairs:
        for target, static in record.static.items():
            widest = max(static.kernels, key=by_need, default=None)
            fullest = max(static.tpu_kernels, key=vmem_share, default=None)
            named = widest or fullest
            computed = {
                "label": label_of(record),
                "target": target,
                "kernels": len(static.all_kernels) or None,
                "kernel": named.label if named else None,
            }
            parts = {"record": record, "static": static, "kernel": widest, "tpu_kernel": fullest}
            builder.append({}, computed=computed, **parts)
    return builder.frame()


def kernels_frame(pairs: Iterable[Described]) -> pd.DataFrame:
    """A row per record, target, kernel and configuration, with the columns of the target's kind of device."""
    builder = FrameBuilder("kernels")
    for _, record in pairs:
        for target, static in record.static.items():
            for kernel in static.all_kernels:
                on_gpu = isinstance(kernel, KernelFigures)
                computed = {
                    **_computed_columns(kernel),
                    "label": label_of(record),
                    "target": target,
                    "grid": "×".join("?" if size < 0 else str(size) for size in kernel.grid),
                }
                parts = {"kernel": kernel if on_gpu else None, "tpu_kernel": None if on_gpu else kernel}
                builder.append({}, record=record, any_kernel=kernel, computed=computed, **parts)
    return builder.frame()


def _computed_columns(kernel: AnyKernel) -> dict[str, Any]:
    """A kernel's computed columns; those of the other kind of device are None."""
    described: dict[str, Any] = dict.fromkeys(
        (*CLASSES, ALL_PATHS, OTHER, "grid_blocks", "instructions", "unaligned")
    )
    if isinstance(kernel, KernelFigures):
        blocks, total = math.prod(kernel.grid), sum(kernel.instructions.values())
        paths = kernel.matrix_paths
        described |= {**dict.fromkeys((*CLASSES, OTHER), 0), **kernel.instructions}
        described |= dict.fromkeys(MATRIX_PATHS) if paths is None else {ALL_PATHS: sum(paths.values())}
        return {**described, "calls": kernel.launches, "grid_blocks": blocks, "instructions": total}
    unaligned = ", ".join(block.operand for block in kernel.blocks if block.is_padded)
    steps = None if kernel.steps < 0 else kernel.steps
    return {**described, "calls": kernel.calls, "grid_blocks": steps, "unaligned": unaligned}


def speedups_frame(pairs: Iterable[Described], selection: Selection) -> pd.DataFrame:
    """A row per comparison with a suite's baseline, run by run."""
    builder = FrameBuilder("speedups")
    for _, read in groupby(pairs, key=lambda pair: id(pair[0])):
        infos, records = zip(*read, strict=True)
        for suite in results_of(selection.narrow(infos[0], records), records):
            for comparison in suite.comparisons:
                computed = {"run": records[0].run, "notes": "; ".join(comparison.notes)}
                builder.append({}, comparison=comparison, computed=computed)
    return builder.frame()
