"""A kernel's machine code: its resources and its instructions, as NVIDIA's own tools list them.

`cuobjdump` and `nvdisasm` come with Triton; neither needs a device. Registers and local memory are what
`cuFuncGetAttribute` would answer on one (NUM_REGS, LOCAL_SIZE_BYTES).
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
PARTITIONS = 4  # of a multiprocessor; a warp lies in one of them
REGISTER_UNIT = 256  # of a warp's registers
REGISTERS_PER_SM = 65_536
SHARED_UNIT = 128  # bytes
WAVES = ("waves", "tail")  # what a device's number of multiprocessors decides
RESERVED_SHARED = 1024  # bytes of every block, for the system; from capability 8.0 on


class Occupancy(NamedTuple):
    """Blocks on one multiprocessor, the resource that runs out first, and the share of its warps in them."""

    blocks: int
    limiter: str  # registers, shared memory, threads or blocks
    share: float  # 0 to 1


def occupancy(capability: str, warps: int, registers: int, shared_bytes: int) -> Occupancy:
    """The occupancy by blocks of so many `warps`, `registers` a thread and `shared_bytes`, none reserved.

    0 blocks where a single one does not fit. KeyError for an unknown capability.
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
    """Blocks by registers: each partition of a multiprocessor holds whole warps in its quarter of them."""
    a_warp = _round_up(registers * THREADS_PER_WARP, REGISTER_UNIT)
    if a_warp == 0:
        return REGISTERS_PER_SM
    warps_on_sm = REGISTERS_PER_SM // PARTITIONS // a_warp * PARTITIONS
    return warps_on_sm // warps


def _by_shared(sm: Multiprocessor, shared_bytes: int) -> int:
    if shared_bytes > sm.shared_block_bytes:
        return 0
    return sm.shared_bytes // _round_up(shared_bytes + RESERVED_SHARED, SHARED_UNIT)


def on_device(kernel: KernelFigures, gpu: Target) -> KernelFigures:
    """The kernel with what the GPU's number of multiprocessors adds: its waves, and the tail of the last."""
    why = kernel.refused
    given = {name: reason for name, reason in kernel.unavailable.items() if name not in WAVES}
    if gpu.accelerator is None:
        why = why or f"how many multiprocessors a GPU has is not known of {gpu.name}"
    elif not why:
        filled, tail = waves(kernel.grid, kernel.blocks_per_sm, gpu.accelerator.gpu["core_count"])
        return replace(kernel, waves=filled, tail=tail, unavailable=given)
    return replace(kernel, waves=None, tail=None, unavailable={**given, **dict.fromkeys(WAVES, why)})


def waves(grid: tuple[int, ...], blocks_per_sm: int, multiprocessors: int) -> tuple[float, float]:
    """(how often the grid fills all multiprocessors, share of the last wave that stays empty)."""
    filled = math.prod(grid) / (blocks_per_sm * multiprocessors)
    return filled, math.ceil(filled) - filled


def _round_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit


INSTRUCTION_BYTES = 16  # from capability 7.0 on
SPILLS = ("STL", "LDL")
# The first class whose pattern an opcode begins with; all other opcodes are OTHER.
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
NO_COLUMNS = "how many columns of tensor memory a kernel takes stands nowhere in XLA's executable"


@dataclass(frozen=True)
class MachineCode:
    """The resources of one kernel's machine code, and its instructions."""

    registers: int  # a thread
    spilled_bytes: int  # a thread's local memory
    static_shared_bytes: int  # a block's, declared in the code and without what the system reserves
    opcodes: Mapping[str, int]  # in the code, each loop body once
    spilled_at: Mapping[str, int]  # spill instructions by `file:line`
    program: str

    @property
    def code_bytes(self) -> int:
        return INSTRUCTION_BYTES * sum(self.opcodes.values())

    def by_class(self) -> dict[str, int]:
        """Instructions by the classes of CLASSES, the frequent ones first."""
        counts: Counter[str] = Counter()
        for opcode, count in self.opcodes.items():
            counts[instruction_class(opcode)] += count
        return dict(counts.most_common())


def instruction_class(opcode: str) -> str:
    return next((name for name, pattern in CLASSES.items() if pattern.match(opcode)), OTHER)


def tools_folder() -> Path:
    """The folder of NVIDIA's tools in Triton, which is not imported for it. Unsupported without Triton."""
    triton = find_spec("triton")
    if triton is None or triton.origin is None:
        raise Unsupported("machine code is read by tools that come with Triton; pip install -e '.[triton]'")
    return Path(triton.origin).parent / "backends" / "nvidia" / "bin"


@cache
def read(cubin: bytes, tools: Path) -> MachineCode:
    """Read a cubin with one kernel by the tools in a folder. Unsupported where they cannot read it.

    Cached, because `nvdisasm` takes a third of a second for the smallest kernel.
    """
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        usage = _run([str(tools / "cuobjdump"), "-res-usage", file.name])
        listing = _run([str(tools / "nvdisasm"), "-c", "-g", "-gi", "-ndf", file.name])
    return parse_listings(usage, listing)


def parse_listings(usage: str, listing: str) -> MachineCode:
    """Parse what `cuobjdump -res-usage` and `nvdisasm -c -gi` print of a kernel."""
    resources = RESOURCES.search(usage)
    if resources is None:
        raise Unsupported("cuobjdump names no resources of its kernel; install another version of triton")
    opcodes: Counter[str] = Counter()
    spilled: Counter[str] = Counter()
    place, digest = "", sha256()
    for text in listing.splitlines():
        if line := LINE.search(text):
            place = f"{Path(line['file']).name}:{line['line']}"
        elif instruction := INSTRUCTION.search(text):
            opcodes[instruction["opcode"]] += 1
            digest.update(f"{instruction['opcode']}{instruction['rest']}\n".encode())
            if instruction["opcode"] in SPILLS and place:  # XLA writes no line table
                spilled[place] += 1
    # From capability 9.0 on a block's shared memory begins behind what the system reserves, which is counted.
    target = TARGET.search(listing)
    reserved = RESERVED_SHARED if target and int(target[1]) >= 90 else 0
    return MachineCode(
        registers=int(resources["registers"]),
        spilled_bytes=int(resources["stack"]),
        static_shared_bytes=max(0, int(resources["shared"]) - reserved),
        opcodes=dict(opcodes),  # no Counter: dataclasses.asdict would rebuild it by counting the pairs
        spilled_at=dict(spilled),
        program=f"sha256:{digest.hexdigest()}",
    )


def _run(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    except FileNotFoundError:
        raise Unsupported(
            f"{command[0]} is missing, with which machine code is read; pip install -e '.[triton]'"
        ) from None
    except subprocess.CalledProcessError as error:
        lines = [line for line in (error.stderr or "").splitlines() if line] or [f"exit {error.returncode}"]
        raise Unsupported(f"{Path(command[0]).name} cannot read the kernel: {lines[-1]}") from None
    return done.stdout


def launched_kernel(
    code: MachineCode,
    wanted: Target,
    *,
    warps: int,
    dynamic_shared_bytes: int,
    tensor_memory_columns: int | None,
    **described: Any,
) -> KernelFigures:
    """The figures of one kernel on a GPU; what no multiprocessor holds is refused in words.

    `described` are the fields that no machine code has: its name, source and grid, and what else is known.
    """
    capability = str(wanted.capability)
    shared = code.static_shared_bytes + dynamic_shared_bytes
    held = occupancy(capability, warps, code.registers, shared)
    alone = KernelFigures(
        **described,
        warps=warps,
        registers=code.registers,
        spilled_bytes=code.spilled_bytes,
        shared_bytes=shared,
        tensor_memory_columns=tensor_memory_columns,
        blocks_per_sm=held.blocks,
        limiter=held.limiter,
        waves=None,
        tail=None,
        instructions=code.by_class(),
        code_bytes=code.code_bytes,
        program=code.program,
        refused="" if held.blocks else _refusal(held, capability, warps, code.registers, shared),
        spilled_at=code.spilled_at,
        occupancy=held.share,
        unavailable={} if tensor_memory_columns is not None else {"tensor_memory_columns": NO_COLUMNS},
    )
    return on_device(alone, wanted)


def _refusal(held: Occupancy, capability: str, warps: int, registers: int, shared_bytes: int) -> str:
    """Why no multiprocessor holds a block."""
    if held.limiter == "shared memory":
        limit = CAPABILITIES[capability].shared_block_bytes
        return f"a block needs {shared_bytes} B of shared memory; capability {capability} gives one {limit} B"
    threads = f"{warps} warps of {registers} registers a thread"
    return f"a block is {threads}, which no multiprocessor of capability {capability} holds"
