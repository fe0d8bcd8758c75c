"""A kernel's machine code: resources and instructions, read by NVIDIA's tools.

`cuobjdump` and `nvdisasm` are part of Triton, and need no device. Registers and local memory equal the values
of `cuFuncGetAttribute` on a device (NUM_REGS, LOCAL_SIZE_BYTES).
"""

from __future__ import annotations

import math
import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from harness.catalog.accelerators import CAPABILITIES, Multiprocessor, Target
from harness.core.errors import Unsupported
from harness.core.kernel_figures import KernelFigures

THREADS_PER_WARP = 32
PARTITIONS = 4  # of a multiprocessor; a warp runs in one of them
REGISTER_UNIT = 256  # allocation unit of a warp's registers
REGISTERS_PER_SM = 65_536
SHARED_UNIT = 128  # bytes
WAVES = ("waves", "tail")  # figures that depend on the number of multiprocessors
RESERVED_SHARED = 1024  # bytes of every block, used by the system from capability 8.0 on


class Occupancy(NamedTuple):
    """Blocks per multiprocessor, the limiting resource, and the share of its warps that they use."""

    blocks: int
    limiter: str  # registers, shared memory, threads or blocks
    share: float  # 0 to 1


def occupancy(capability: str, warps: int, registers: int, shared_bytes: int) -> Occupancy:
    """Occupancy by blocks with `warps`, `registers` per thread and `shared_bytes` without the reserved ones.

    0 blocks if a single one does not fit. KeyError for an unknown capability.
    """
    sm = CAPABILITIES[capability]
    by_limiter = {
        "threads": sm.warps // warps,
        "registers": _by_registers(warps, registers),
        "shared memory": _by_shared(sm, shared_bytes),
        "blocks": sm.blocks,
    }
    limiter = min(by_limiter, key=lambda name: by_limiter[name])
    blocks = by_limiter[limiter]
    return Occupancy(blocks, limiter, blocks * warps / sm.warps)


def _by_registers(warps: int, registers: int) -> int:
    """Blocks by registers; each partition has a quarter of the registers, and fits whole warps only."""
    a_warp = _round_up(registers * THREADS_PER_WARP, REGISTER_UNIT)
    if a_warp == 0:
        return REGISTERS_PER_SM
    warps_on_sm = REGISTERS_PER_SM // PARTITIONS // a_warp * PARTITIONS
    return warps_on_sm // warps


def _by_shared(sm: Multiprocessor, shared_bytes: int) -> int:
    if shared_bytes > sm.shared_block_bytes:
        return 0
    return sm.shared_bytes // _round_up(shared_bytes + RESERVED_SHARED, SHARED_UNIT)


def with_waves(kernel: KernelFigures, gpu: Target) -> KernelFigures:
    """Add the figures that depend on the GPU's number of multiprocessors: waves, and tail of the last."""
    why = kernel.refused
    given = {name: reason for name, reason in kernel.unavailable.items() if name not in WAVES}
    if gpu.accelerator is None:
        why = why or f"the number of multiprocessors of {gpu.name} is unknown"
    elif not why:
        filled, tail = waves(kernel.grid, kernel.blocks_per_sm, gpu.accelerator.gpu["core_count"])
        return replace(kernel, waves=filled, tail=tail, unavailable=given)
    return replace(kernel, waves=None, tail=None, unavailable={**given, **dict.fromkeys(WAVES, why)})


def waves(grid: tuple[int, ...], blocks_per_sm: int, multiprocessors: int) -> tuple[float, float]:
    """(number of times that the grid fills all multiprocessors, empty share of the last wave)."""
    filled = math.prod(grid) / (blocks_per_sm * multiprocessors)
    return filled, math.ceil(filled) - filled


def _round_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit


INSTRUCTION_BYTES = 16  # from capability 7.0 on
SPILLS = ("STL", "LDL")
# An opcode has the first class with a pattern that matches its start, else OTHER.
CLASSES: Mapping[str, re.Pattern[str]] = {
    "wgmma": re.compile(r"[A-Z]GMMA(?!\w)"),
    "tcgen05": re.compile(r"UTC[A-Z]*MMA(?!\w)"),
    "dmma": re.compile(r"DMMA(?!\w)"),
    "mma": re.compile(r"[A-Z]{0,2}MMA(?!\w)"),
    "tensor memory": re.compile(r"LDTM|STTM|LDT|STT|UTCCP"),
    "spill": re.compile("|".join(SPILLS)),
    "shared": re.compile(r"LDS|STS|ATOMS|LDSM|STSM"),
    "global": re.compile(r"LDG(?!D)|STG|ATOM|RED(?!UX)|UTMA|UBLK|LD(?!\w)|ST(?!\w)"),
    "special": re.compile(r"MUFU"),
    "barrier": re.compile(r"BAR|SYNCS|DEPBAR|LDGDEPBAR|WARPSYNC|WARPGROUP|MEMBAR|FENCE|UTCBAR|ERRBAR"),
    "float": re.compile(r"[FHD](ADD|MUL|FMA|MNMX|SETP|SEL|CHK|SWZADD)|HFMA|HMNMX|F2F|F2I|I2F"),
}
OTHER = "other"
LINE = re.compile(r'//## File "(?P<file>[^"]*)", line (?P<line>\d+)')
INSTRUCTION = re.compile(
    r"/\*(?P<at>[0-9a-f]{4,})\*/\s+(?:@!?U?P\w+\s+)?(?P<opcode>[A-Z][A-Z0-9_]*)(?P<rest>[^;]*);"
)
TARGET = re.compile(r"\.target\s+sm_(\d+)")
RESOURCES = re.compile(r"REG:(?P<registers>\d+) STACK:(?P<stack>\d+) SHARED:(?P<shared>\d+)")
NO_COLUMNS = "XLA's executable does not contain a kernel's tensor memory columns"


@dataclass(frozen=True)
class MachineCode:
    """Resources and instructions of one kernel's machine code."""

    registers: int  # per thread
    spilled_bytes: int  # local memory per thread
    static_shared_bytes: int  # per block, declared in the code, without reserved bytes
    opcodes: Mapping[str, int]  # in the code; loop bodies count once
    spilled_at: Mapping[str, int]  # spill instructions by `file:line`
    program: str

    @property
    def code_bytes(self) -> int:
        return INSTRUCTION_BYTES * sum(self.opcodes.values())

    def by_class(self) -> dict[str, int]:
        """Number of instructions by class, the most frequent first."""
        counts: Counter[str] = Counter()
        for opcode, count in self.opcodes.items():
            counts[instruction_class(opcode)] += count
        return dict(counts.most_common())


def instruction_class(opcode: str) -> str:
    return next((name for name, pattern in CLASSES.items() if pattern.match(opcode)), OTHER)


def tools_folder() -> Path:
    """The folder of NVIDIA's tools in Triton, found without importing it. Unsupported without Triton."""
    triton = find_spec("triton")
    if triton is None or triton.origin is None:
        raise Unsupported("machine code is read by tools of Triton; pip install -e '.[triton]'")
    return Path(triton.origin).parent / "backends" / "nvidia" / "bin"


@cache
def read(cubin: bytes, tools: Path) -> MachineCode:
    """Read a cubin with one kernel by the tools in a folder. Unsupported if they cannot read it.

    Cached, because `nvdisasm` takes at least a third of a second.
    """
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        usage = _run([str(tools / "cuobjdump"), "-res-usage", file.name])
        listing = _run([str(tools / "nvdisasm"), "-c", "-g", "-gi", "-ndf", file.name])
    return parse_listings(usage, listing)


def parse_listings(usage: str, listing: str) -> MachineCode:
    """Parse a kernel's output of `cuobjdump -res-usage` and `nvdisasm -c -gi`."""
    resources = RESOURCES.search(usage)
    if resources is None:
        raise Unsupported("cuobjdump reports no resources of its kernel; install another version of triton")
    opcodes: Counter[str] = Counter()
    spilled: Counter[str] = Counter()
    place, digest = "", sha256()
    for text in listing.splitlines():
        if line := LINE.search(text):
            place = f"{Path(line['file']).name}:{line['line']}"
        elif instruction := INSTRUCTION.search(text):
            opcodes[instruction["opcode"]] += 1
            digest.update(f"{instruction['opcode']}{instruction['rest']}\n".encode())
            if instruction["opcode"] in SPILLS and place:  # XLA omits the line table
                spilled[place] += 1
    # From capability 9.0 on, a block's shared memory includes the reserved bytes.
    target = TARGET.search(listing)
    reserved = RESERVED_SHARED if target and int(target[1]) >= 90 else 0
    return MachineCode(
        registers=int(resources["registers"]),
        spilled_bytes=int(resources["stack"]),
        static_shared_bytes=max(0, int(resources["shared"]) - reserved),
        opcodes=dict(opcodes),  # not a Counter, which dataclasses.asdict would rebuild by counting pairs
        spilled_at=dict(spilled),
        program=f"sha256:{digest.hexdigest()}",
    )


def _run(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    except FileNotFoundError:
        raise Unsupported(
            f"{command[0]} is missing, which reads machine code; pip install -e '.[triton]'"
        ) from None
    except subprocess.CalledProcessError as error:
        lines = [line for line in (error.stderr or "").splitlines() if line] or [f"exit {error.returncode}"]
        raise Unsupported(f"{Path(command[0]).name} cannot read the kernel: {lines[-1]}") from None
    return done.stdout


def launched_kernel(
    code: MachineCode,
    gpu: Target,
    *,
    warps: int,
    dynamic_shared_bytes: int,
    tensor_memory_columns: int | None,
    **described: Any,
) -> KernelFigures:
    """The figures of one kernel on a GPU; `refused` is the reason if a block does not fit.

    `described` are fields that machine code lacks, for example name, source and grid.
    """
    capability = str(gpu.capability)
    shared = code.static_shared_bytes + dynamic_shared_bytes
    fit = occupancy(capability, warps, code.registers, shared)
    kernel = KernelFigures(
        **described,
        warps=warps,
        registers=code.registers,
        spilled_bytes=code.spilled_bytes,
        shared_bytes=shared,
        tensor_memory_columns=tensor_memory_columns,
        blocks_per_sm=fit.blocks,
        limiter=fit.limiter,
        waves=None,
        tail=None,
        instructions=code.by_class(),
        code_bytes=code.code_bytes,
        program=code.program,
        refused="" if fit.blocks else _refusal(fit, capability, warps, code.registers, shared),
        spilled_at=code.spilled_at,
        occupancy=fit.share,
        unavailable={} if tensor_memory_columns is not None else {"tensor_memory_columns": NO_COLUMNS},
    )
    return with_waves(kernel, gpu)


def _refusal(fit: Occupancy, capability: str, warps: int, registers: int, shared_bytes: int) -> str:
    """The reason why a block does not fit on a multiprocessor."""
    if fit.limiter == "shared memory":
        limit = CAPABILITIES[capability].shared_block_bytes
        return f"a block needs {shared_bytes} B of shared memory; capability {capability} allows {limit} B"
    threads = f"{warps} warps with {registers} registers per thread"
    return f"a block has {threads}, too many for a multiprocessor of capability {capability}"
