"""Kernel launches in a GPU's serialised executable: machine code, grids and blocks.

Each is stored with the instruction that launches it, also inside loops. The field numbers are undocumented;
they are those of jaxlib 0.10.2.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from harness.xla.protobuf import inside, message, number_of, possible_message
from harness.xla.riegeli import of_executable

ELF = b"\x7fELF"
INSTRUCTION, NAME = 1, 1  # of a launch, and of its description
LAUNCH, KERNEL = 36, 3  # the path to a kernel
LOADED, IN_MEMORY, CUBIN = 2, 2, 1  # from there to its machine code
GRID, BLOCKS = 3, 2
BLOCK, THREADS = 4, 1
SHARED = 6  # dynamic shared memory of the launch
AXES = (1, 2, 3)


@dataclass(frozen=True)
class GpuLaunch:
    """A kernel as XLA launches it; `shared_bytes` per block are the launch's dynamic ones."""

    instruction: str
    kernel: str
    cubin: bytes
    grid: tuple[int, ...]  # blocks per axis, without trailing ones
    threads: int  # of a block
    shared_bytes: int


def gpu_launches(executable: bytes) -> Iterator[GpuLaunch]:
    """The launches in order, including XLA's own kernels. ValueError for an unknown form."""
    for record in of_executable(executable):
        yield from _launches(record)


def _launches(data: bytes) -> Iterator[GpuLaunch]:
    fields = possible_message(data)
    if kernels := inside(inside([data], LAUNCH), KERNEL):
        instructions = inside(inside([data], INSTRUCTION), NAME)
        yield from (_launch(kernel, instructions) for kernel in kernels if ELF in kernel)
        return
    for field in fields:
        if ELF in field.value:
            yield from _launches(field.value)


def _launch(kernel: bytes, instructions: list[bytes]) -> GpuLaunch:
    (cubin,) = inside(inside(inside([kernel], LOADED), IN_MEMORY), CUBIN)
    x, y, z = _axes(inside(inside([kernel], GRID), BLOCKS))
    wide, high, deep = _axes(inside(inside([kernel], BLOCK), THREADS))
    return GpuLaunch(
        instruction="".join(name.decode() for name in instructions),
        kernel="".join(name.decode() for name in inside([kernel], NAME)),
        cubin=cubin,
        grid=(x, y, z) if z > 1 else (x, y) if y > 1 else (x,),
        threads=wide * high * deep,
        shared_bytes=number_of(message(kernel), SHARED),
    )


def _axes(parts: list[bytes]) -> list[int]:
    (part,) = parts
    return [number_of(message(part), axis) for axis in AXES]
