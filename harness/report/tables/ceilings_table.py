"""A machine's measured ceilings on a terminal: sentences, a row each, and a datasheet's beside them."""

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.text import Text

from harness.analysis.roofline import DRAM, Roofline
from harness.catalog.accelerators import accelerator_called
from harness.core.fingerprint_identity import accelerator_name
from harness.core.units import format_bytes
from harness.report import format as fmt
from harness.report.tables.listing import plain_table

FLOPS, BYTES = "FLOP/s", "B/s"
CAPTION = (
    "Of torch's own kernels in a fresh process the fastest round of the fastest one, and its median with a "
    "95 % interval over {rounds} rounds. A stream's bytes are those that it reads and writes."
)


def print_roofline(console: Console, facts: Mapping[str, Any], roofline: Roofline) -> None:
    """Print at which intensity a machine's roofs meet, then every ceiling with the kernel that reached it."""
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
    console.print(Text(CAPTION.format(rounds=rounds), style="dim"), soft_wrap=True)


def sentences(roofline: Roofline, cores: int) -> list[str]:
    """Sentences on where the roofs meet, and on a busy machine, whose ceilings are too low."""
    found: list[str] = []
    memory = roofline.levels.get(DRAM)
    if "f32" in roofline.compute and memory is not None:
        fast, slow = roofline.compute["f32"].rate, memory.rate
        ridge = fast / slow
        found.append(
            f"Products of f32 reach {rate(fast, FLOPS)} and streams from {DRAM} {rate(slow, BYTES)}: "
            f"what does fewer than {fmt.significant(ridge, 2)} FLOPs for a byte of {DRAM} is bound by memory."
        )
    if roofline.load > cores / 2:
        found.append(
            f"The load average was {roofline.load:.1f} on {cores} cores: something else ran, and these "
            "ceilings are too low; measure again when it has ended."
        )
    return found


def rate(value: float, unit: str) -> str:
    """`116 GFLOP/s`."""
    return fmt.per_second(value, None, None, unit)[0]
