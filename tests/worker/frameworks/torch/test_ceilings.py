"""Ceilings with fake clocks and devices."""

import pytest

from harness.worker.frameworks.torch import ceilings
from harness.worker.frameworks.torch.ceilings import BUDGET_S, ROUNDS, Kernel, reader, sample

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch
CPU = torch.device("cpu")


class Clock:
    """A clock that advances by one second per kernel call."""

    def __init__(self, second=1.0):
        self.now, self.second = 0.0, second

    def call(self):
        self.now += self.second

    def read(self, call, inner):
        start = self.now
        for _ in range(inner):
            call()
        return (self.now - start) / inner


def test_work_over_time_in_every_round():
    clock = Clock(0.001)
    assert sample([Kernel("copy", "", 64, 128.0, clock.call)], clock.read, lambda: clock.now) == [
        [pytest.approx(128e3)] * ROUNDS
    ]


def test_a_budget_ends_the_rounds_only_after_enough_for_an_interval():
    clock = Clock(BUDGET_S)
    (rates,) = sample([Kernel("copy", "", 64, 128.0, clock.call)], clock.read, lambda: clock.now)
    assert len(rates) == 6


def test_cuda_events_are_read_after_synchronisation(device):
    from harness.worker.frameworks.torch.framework import Torch

    framework = Torch()
    framework.device = torch.device("cuda")
    assert reader(framework)(lambda: device.launch("call"), 4) == pytest.approx(5e-6 / 4)
    assert device.done == ["synchronize", "event", *["call"] * 4, "event", "synchronize"]


def test_streams_count_the_bytes_of_their_working_set():
    found = list(ceilings.streams(CPU, 2, 8 * ceilings.SETS[1]))
    assert [(k.name, k.size, k.work / k.size) for k in found[:2]] == [
        ("copy", 1 << 15, 1.0),
        ("triad", 1 << 15, 1.5),
    ]
    assert {kernel.size for kernel in found} == set(ceilings.SETS[:2]), "an eighth of the memory"
    total = found[2]
    assert total.work == ceilings.SWEEP_BYTES
    assert total.call().shape == (2, ceilings.SWEEP_BYTES // (1 << 15))


def test_products_stop_growing_before_a_call_takes_too_long():
    products = ceilings.matrix_products(CPU, lambda _call, _inner: ceilings.LONGEST_S)
    assert [(kernel.dtype, kernel.size, kernel.work) for kernel in products] == [
        (kind, 256, 2.0 * 256**3) for kind in ("f64", "f32", "bf16")
    ]
