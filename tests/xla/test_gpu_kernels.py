"""Kernels that serialised executables of GPUs launch, as written by hand; tests/cli has real ones."""

from harness.xla.gpu_kernels import GpuLaunch, gpu_launches
from tests.xla.test_owners import count, executable, part, text

CUBIN = b"\x7fELF and the code"


def axes(number, *sizes):
    return part(number, *(count(axis, size) for axis, size in enumerate(sizes, 1)))


def launch(instruction, name, grid, threads, shared=0, cubin=CUBIN):
    loaded = part(2, part(2, text(1, cubin.decode())), count(3, 2), text(4, name))
    more = [count(6, shared)] if shared else []  # what is 0 is not written
    kernel = part(3, text(1, name), loaded, part(3, axes(2, *grid)), part(4, axes(1, *threads)), *more)
    return part(13, part(1, text(1, instruction), count(3, 1)), part(36, part(1, count(2, 8)), kernel))


def test_launches_are_found_in_a_program_and_in_its_loops():
    first = launch("pallas_call.1", "double", (128, 1, 1), (128, 1, 1))
    inside = launch("pallas_call.2", "attend", (32, 1, 4), (64, 2, 2), shared=81920)
    loop = part(13, part(1, text(1, "while.3")), part(7, part(3, inside)))
    other = part(13, part(1, text(1, "copy.4")), part(9, text(1, "no kernel")))
    found = list(gpu_launches(executable(b"other", part(1, other, first, loop).value)))
    assert found == [
        GpuLaunch("pallas_call.1", "double", CUBIN, (128,), 128, 0),
        GpuLaunch("pallas_call.2", "attend", CUBIN, (32, 1, 4), 256, 81920),
    ]
