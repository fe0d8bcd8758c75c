"""`doctor --roofline`: measure this machine's ceilings of FLOP/s and bytes/s, keep and print them."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from harness.analysis.roofline import Roofline, roofline_of
from harness.catalog.accelerators import accelerator_called
from harness.commands.output import console, print_json, print_note
from harness.core.fingerprint_identity import accelerator_name
from harness.report.tables.ceilings_table import print_roofline
from harness.run.machine.probes import measure_ceilings, probe_fingerprint
from harness.store import rooflines
from harness.store.stored_run import fingerprint_id
from harness.sweep.project import Project

Facts = Mapping[str, Any]


def measure_rooflines(project: Project, *, json: bool) -> None:
    """Measure the processor, with the threads that cases have, and a CUDA device where there is one."""
    threads = project.config.settings.threads
    here = probe_fingerprint("cpu", threads)
    found = [_measure(project, here["fingerprint"])]
    if "unavailable" not in here["gpu"]:
        found.append(_measure(project, probe_fingerprint("cuda", threads)["fingerprint"]))
    if json:
        print_json({"rooflines": [_data(facts, roofline) for facts, roofline in found]})
        return
    for facts, roofline in found:
        gpu = accelerator_name(facts)
        machine = gpu or f"{facts['cpu']}, {facts['threads']} threads"
        print_roofline(console(), machine, facts["cores"], roofline, accelerator_called(gpu or ""))


def _measure(project: Project, facts: Facts) -> tuple[Facts, Roofline]:
    print_note(f"{facts['device']}: matrix products and streams, about a minute")
    measured = measure_ceilings(facts["device"], facts["threads"])
    rooflines.keep(project.results, facts, measured)
    return facts, roofline_of(measured)


def _data(facts: Facts, roofline: Roofline) -> dict[str, Any]:
    """Rates per second: FLOPs in `compute` by dtype, bytes in `memory` by level, in `curve` by size."""
    return {
        "fingerprint": fingerprint_id(facts),
        **{name: facts[name] for name in ("device", "threads")},
        **{name: getattr(roofline, name) for name in ("measured", "load", "caches")},
        "compute": [asdict(ceiling) for ceiling in roofline.compute.values()],
        "memory": [asdict(ceiling) for ceiling in roofline.levels.values()],
        "curve": [{**asdict(ceiling), "bytes": size} for size, ceiling in roofline.curve.items()],
    }
