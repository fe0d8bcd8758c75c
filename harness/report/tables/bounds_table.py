"""Lower bounds of a call from an accelerator's documented rates, and a machine's measured ceilings."""

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.text import Text

from harness.analysis.results import representative
from harness.analysis.roofline import COMPUTE, DRAM, Roofline, RoofShare, case_work, datasheet_share
from harness.analysis.suite_results import SuiteResults
from harness.catalog.accelerators import accelerator_called, accelerators
from harness.core.fingerprint_identity import accelerator_name
from harness.core.record import COUNTED_MODE, Record
from harness.core.units import format_bytes, format_count, format_seconds
from harness.report import format as fmt
from harness.report.format import short_label
from harness.report.tables.listing import plain_table


def device_bound(record: Record, target: str) -> RoofShare | None:
    """The lower bound of a case on one accelerator (`cuda:h100`), without a share.

    None if the family counts no work in this mode, if the target is not a single device, or if its peak for
    the workload's dtype is not documented.
    """
    device = accelerators().get(target) if record.mode == COUNTED_MODE else None
    found = datasheet_share(device, case_work(record)) if device else RoofShare()
    return found if found.bound_s else None


def bound_lines(panel: SuiteResults) -> list[str]:
    """The bounds at the longest length, a line per accelerator unless all implementations have the same."""
    lines: list[str] = []
    for target in panel.compiled_targets:
        bounds = {
            (records[0].seq, records.label): found
            for records in panel.by_case.values()
            if (found := device_bound(representative(records), target))
        }
        longest = max((seq for seq, _ in bounds), default=0)
        own = {label: bounds[longest, label] for label in panel.implementations if (longest, label) in bounds}
        if len(set(own.values())) > 1:
            texts = (
                f"{short_label(label)} {format_seconds(bound.bound_s or 0.0)}"
                + " (bytes)" * (bound.roof != COMPUTE)
                for label, bound in own.items()
            )
            how = f"at {format_count(longest)}, by the family's formulas and documented rates"
            lines.append(f"{target}: lower bounds of a call {how}: {'; '.join(texts)}.")
    return lines


FLOPS, BYTES = "FLOP/s", "B/s"
CEILINGS_CAPTION = (
    "rate: fastest round of torch's fastest kernel in a fresh process; median: of this kernel, with its 95 % "
    "interval over {rounds} rounds. The bytes of a stream are those read plus those written."
)


def print_roofline(console: Console, facts: Mapping[str, Any], roofline: Roofline) -> None:
    """Print the intensity at which a machine's roofs meet, then every ceiling with its kernel."""
    gpu = accelerator_name(facts)
    accelerator = accelerator_called(gpu or "")
    console.print(Text(gpu or f"{facts['cpu']}, {facts['threads']} threads", style="bold"))
    for sentence in sentences(roofline, facts["cores"]):
        console.print(Text(sentence), soft_wrap=True)
    numbers = ("rate", "median", "95 %")
    table = plain_table("ceiling", *numbers, "reached by", right=numbers)
    ceilings = [(ceiling, FLOPS) for ceiling in roofline.compute.values()]
    for ceiling, unit in (*ceilings, *((level, BYTES) for level in roofline.levels.values())):
        side = f"n = {ceiling.size}" if unit == FLOPS else format_bytes(ceiling.size)
        median = fmt.per_second(ceiling.median.value or 0.0, ceiling.median.low, ceiling.median.high, unit)
        table.add_row(ceiling.name, rate(ceiling.rate, unit), *median, f"{ceiling.kernel}, {side}")
    datasheet = {name: (peak, FLOPS) for name, peak in accelerator.peak_flops.items()} if accelerator else {}
    datasheet |= {DRAM: (accelerator.bandwidth_bytes_s, BYTES)} if accelerator else {}
    for name, (value, unit) in datasheet.items():
        exact = fmt.trim_zeros(fmt.per_second(value, value, value, unit)[0])
        table.add_row(name, exact, "", "", "datasheet, not measured")
    console.print(table)
    rounds = min(len(reading.per_second) for reading in roofline.readings)
    console.print(Text(CEILINGS_CAPTION.format(rounds=rounds), style="dim"), soft_wrap=True)


def sentences(roofline: Roofline, cores: int) -> list[str]:
    """Sentences on the ridge point, and on a busy machine, where the ceilings are too low."""
    found: list[str] = []
    memory = roofline.levels.get(DRAM)
    if "f32" in roofline.compute and memory is not None:
        fast, slow = roofline.compute["f32"].rate, memory.rate
        ridge = fast / slow
        found.append(
            f"Matrix products of f32 reach {rate(fast, FLOPS)}, and streams from {DRAM} {rate(slow, BYTES)}. "
            f"Code with fewer than {fmt.significant(ridge, 2)} FLOPs per byte of {DRAM} is bound by memory."
        )
    if roofline.load > cores / 2:
        found.append(
            f"The load average was {roofline.load:.1f} on {cores} cores: other programs ran, so these "
            "ceilings are too low; measure again on an idle machine."
        )
    return found


def rate(value: float, unit: str) -> str:
    """`116 GFLOP/s`."""
    return fmt.per_second(value, None, None, unit)[0]
