"""Measured rooflines (peak FLOP/s and bytes/s): `doctor --roofline` measures, columns and charts read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness.analysis.roofline import Roofline
    from harness.sweep.project import Project

Facts = Mapping[str, Any]


def store(results: Path, facts: Facts, measured: Mapping[str, Any]) -> None:
    """Store a machine's measured roofline in the file, replacing an older one."""
    from harness.analysis.roofline import FILE, REMEDY
    from harness.store import json_file
    from harness.store.atomic import write_files
    from harness.store.stored_run import fingerprint_id

    older = json_file.read_object(results / FILE, REMEDY) if (results / FILE).exists() else {}
    stored = {**older, fingerprint_id(facts): {**measured, "facts": facts}}
    write_files(results, {FILE: json_file.to_text(stored)})


def measure_rooflines(project: Project, log: Callable[[str], None]) -> list[tuple[Facts, Roofline]]:
    """Measure and store the processor, with as many threads as cases use, and a CUDA device if any."""
    from harness.run.machine.probes import probe_fingerprint

    threads = project.config.settings.threads
    here = probe_fingerprint("cpu", threads)
    machines = [here["fingerprint"]]
    if "unavailable" not in here["gpu"]:
        machines.append(probe_fingerprint("cuda", threads)["fingerprint"])
    return [(facts, _measure(project.results, facts, log)) for facts in machines]


def _measure(results: Path, facts: Facts, log: Callable[[str], None]) -> Roofline:
    from harness.analysis.roofline import roofline_of
    from harness.run.machine.probes import measure_ceilings

    log(f"{facts['device']}: measuring matrix products and memory streams, about a minute")
    measured = measure_ceilings(facts["device"], facts["threads"])
    store(results, facts, measured)
    return roofline_of(measured)


def roofline_data(facts: Facts, roofline: Roofline) -> dict[str, Any]:
    """A roofline as data: FLOP/s by dtype in `compute`, bytes/s by level in `memory`, by size in `curve`."""
    from harness.store.stored_run import fingerprint_id

    return {
        "fingerprint": fingerprint_id(facts),
        **{name: facts[name] for name in ("device", "threads")},
        **{name: getattr(roofline, name) for name in ("measured", "load", "caches")},
        "compute": [asdict(ceiling) for ceiling in roofline.compute.values()],
        "memory": [asdict(ceiling) for ceiling in roofline.levels.values()],
        "curve": [{**asdict(ceiling), "bytes": size} for size, ceiling in roofline.curve.items()],
    }
