"""The kernels that a GPU's serialised executable launches: their machine code, grids and blocks.

Each stands there with the instruction that launches it, in a loop's body as well. Field numbers as seen in
jaxlib 0.10.2, whose XLA documents none of them.
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
SHARED = 6  # that a launch asks for beside what the code declares
AXES = (1, 2, 3)


@dataclass(frozen=True)
class GpuLaunch:
    """A kernel as XLA launches it; `shared_bytes` of a block are those of the launch alone."""

    instruction: str
    kernel: str
    cubin: bytes
    grid: tuple[int, ...]  # blocks, without the last axes that have one
    threads: int  # of a block
    shared_bytes: int


def gpu_launches(executable: bytes) -> Iterator[GpuLaunch]:
    """The launches in the order in which they are made, XLA's own too. ValueError for another form."""
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
