"""Builds GPU traces in the format of XLA's profiler from given events.

The layout is that of xla/backends/profiler/gpu/cupti_collector.cc at openxla/xla@0c24aff: `CreateXEvent` adds
the statistics, `GetDeviceXLineName` names the lines, `Flush` gives each stream its own line;
xla/tsl/profiler/utils/xplane_schema.cc has the names. xprof derives the lines of sums.
"""

from typing import NamedTuple

from jax.profiler import ProfileData

KERNEL, COPY, FILL, ALLOCATION, OVERHEAD = "kernel", "memcpy", "memset", "memalloc", "overhead"
DETAILS = {
    KERNEL: (
        "kernel_details",
        "regs:32 static_shared:0 dynamic_shared:0 grid:64,1,1 block:128,1,1 occ_pct:100",
    ),
    COPY: ("memcpy_details", "kind_src:device kind_dst:device size:1024 dest:0 async:1"),
    FILL: ("Memset_details", "kind:device num_bytes:1024 async:1"),
    ALLOCATION: ("memalloc_details", "kind:device num_bytes:1024"),
}


class Event(NamedTuple):
    """An event of a stream, in nanoseconds; `module` is set as for kernels outside of command buffers."""

    name: str
    start: int
    length: int
    module: str = ""
    kind: str = KERNEL
    stream: str = "Stream #14(Kernel)"


def trace(*events: Event, device: str = "/device:GPU:0", errors: str = "", warnings: str = "") -> bytes:
    """A serialised XSpace with a host plane, and a device plane that also has sums of its events."""
    names = sorted({event.name for event in events})
    stats = ["correlation_id", "hlo_module", "hlo_op", "theoretical_occupancy_pct", "tf_op"]
    stats += [DETAILS[event.kind][0] for event in events if event.kind in DETAILS]
    stats = list(dict.fromkeys([*stats, *(event.module for event in events if event.module)]))
    lines: dict[str, list[str]] = {}
    for number, event in enumerate(events):
        lines.setdefault(event.stream, []).append(_event(event, number, names, stats))
        if event.module:
            for sums in ("XLA Modules", "XLA Ops", "Launch Stats", "Steps"):
                lines.setdefault(sums, []).append(_event(event._replace(kind=""), number, names, stats))
    parts = [
        *(
            f'lines {{ id: {n} name: "{name}" {" ".join(own)} }}'
            for n, (name, own) in enumerate(lines.items())
        ),
        *(f'event_metadata {{ key: {n} value {{ id: {n} name: "{x}" }} }}' for n, x in enumerate(names, 1)),
        *(f'stat_metadata {{ key: {n} value {{ id: {n} name: "{x}" }} }}' for n, x in enumerate(stats, 1)),
    ]
    host = 'planes { name: "/host:CUPTI" lines { name: "Host Threads/7" } }'
    said = [f'errors: "{errors}"' if errors else "", f'warnings: "{warnings}"' if warnings else ""]
    text = f'{host} planes {{ name: "{device}" {" ".join(parts)} }} {" ".join(said)}'
    return ProfileData.text_proto_to_serialized_xspace(text)


def _event(event: Event, number: int, names: list[str], stats: list[str]) -> str:
    own = [f"stats {{ metadata_id: {_id(stats, 'correlation_id')} uint64_value: {number} }}"]
    if event.module:
        module = _id(stats, event.module)
        own.append(f"stats {{ metadata_id: {_id(stats, 'hlo_module')} ref_value: {module} }}")
    if event.kind in DETAILS:
        name, text = DETAILS[event.kind]
        own.append(f'stats {{ metadata_id: {_id(stats, name)} str_value: "{text}" }}')
    times = f"offset_ps: {1000 * event.start} duration_ps: {1000 * event.length}"
    return f"events {{ metadata_id: {_id(names, event.name)} {times} {' '.join(own)} }}"


def _id(names: list[str], name: str) -> int:
    return names.index(name) + 1
