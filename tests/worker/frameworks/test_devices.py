"""What is done on devices that this machine may not have, against stand-ins for their documented calls."""

import itertools
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from harness.core.errors import Unsupported
from harness.worker.frameworks import base as frameworks

TORCH = "harness.worker.frameworks.torch"


@pytest.mark.torch
class TestCuda:
    @pytest.fixture
    def cuda(self, monkeypatch):
        """torch.cuda as a list of what was asked of it; an event's time is its place in that list."""
        torch = pytest.importorskip("torch")
        from harness.worker.frameworks.torch import cuda as torch_cuda

        torch_cuda.l2_buffer.cache_clear()
        done = []

        class Event:
            def __init__(self, *, enable_timing):
                assert enable_timing

            def record(self):
                self.at = len(done)
                done.append("event")

            def elapsed_time(self, other):
                return 1e-3 * (other.at - self.at)

        def empty(size, *, dtype, device):
            assert (size, device) == (200, "cuda")
            return SimpleNamespace(zero_=lambda: done.append("flush"))

        seconds = itertools.count()  # one passes on the host between two looks at its clock
        monkeypatch.setattr(f"{TORCH}.cuda.perf_counter", lambda: next(seconds))
        monkeypatch.setattr(torch.cuda, "Event", Event)
        monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
        monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: SimpleNamespace(L2_cache_size=100))
        monkeypatch.setattr(torch.cuda, "synchronize", lambda: done.append("synchronize"))
        monkeypatch.setattr(torch, "empty", empty)
        yield done
        torch_cuda.l2_buffer.cache_clear()

    @pytest.fixture
    def framework(self):
        torch = pytest.importorskip("torch")
        from harness.worker.frameworks.torch.framework import Torch

        made = Torch()
        made.device = torch.device("cuda")
        return made

    def test_every_call_is_timed_between_its_own_events_after_a_flush(self, cuda):
        from harness.worker.frameworks.torch.cuda import cuda_events

        read = cuda_events()
        calls = [lambda: cuda.append("call")] * 2
        assert read(calls, 2, None) == pytest.approx([2 * 2e-6] * 2), "milliseconds, added up"
        assert cuda == [*["flush", "event", "call", "event"] * 4, "synchronize"]

    def test_only_results_of_the_first_call_are_kept(self, cuda):
        from harness.worker.frameworks.torch.cuda import cuda_events

        kept = []
        cuda_events()([lambda: "a", lambda: "b"], 1, kept.append)
        assert kept == ["a"]

    def test_events_that_are_longer_than_what_passed_here_are_refused(self, cuda, monkeypatch):
        from harness.worker.frameworks.torch.cuda import cuda_events

        monkeypatch.setattr("torch.cuda.Event.elapsed_time", lambda *_: 60_000.0)
        with pytest.raises(
            RuntimeError, match=r"read 60\.0 s for calls around which 1\.00 s passed on the host"
        ):
            cuda_events()([lambda: None], 1, None)

    def test_its_timer_says_how_it_reads(self, framework, cuda):
        timer = framework.timer()
        assert (timer.method, timer.cache) == ("cuda_events", "flushed")
        framework.sync(None)
        assert cuda == ["synchronize"]

    @pytest.mark.parametrize("on_device", [True, False])
    def test_kernels_are_the_profilers_events_of_the_device_in_order(
        self, framework, cuda, monkeypatch, on_device
    ):
        import torch
        from torch.autograd import DeviceType
        from torch.autograd.profiler_util import FunctionEvent

        from harness.worker.frameworks.torch import operators

        def event(name, start, kind=DeviceType.CUDA, **more):
            return FunctionEvent(
                id=0, name=name, thread=0, start_us=start, end_us=start + 1, device_type=kind, **more
            )

        events = [
            event("aten::add", 0, DeviceType.CPU),
            *[event("second", 9), event("first", 5), event("mine", 4, is_user_annotation=True)] * on_device,
        ]

        @contextmanager
        def profile(*, activities):
            assert torch.profiler.ProfilerActivity.CUDA in activities
            yield SimpleNamespace(events=lambda: events)

        monkeypatch.setattr(operators, "profile", profile)
        monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
        if on_device:
            assert framework.kernels(lambda: cuda.append("call")) == ["first", "second"]
            assert cuda == ["call", "synchronize"]
        else:
            with pytest.raises(Unsupported, match="no events of the GPU"):
                framework.kernels(lambda: None)

    def test_memory_is_the_allocators_peak_above_what_was_in_use(self, framework, monkeypatch):
        import torch

        stats = {"peak": 900, "now": 300}
        monkeypatch.setattr(torch.cuda, "reset_peak_memory_stats", lambda: stats.update(peak=stats["now"]))
        monkeypatch.setattr(torch.cuda, "memory_allocated", lambda: stats["now"])
        monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda: stats["peak"])
        rise = framework.rise()
        assert rise() == 0
        stats.update(peak=1000)
        assert rise() == 700


@pytest.mark.jax
class TestJaxDevices:
    @pytest.fixture
    def framework(self):
        pytest.importorskip("jax")
        made = type(frameworks.get("jax"))()
        made.device = SimpleNamespace(platform="gpu", memory_stats=lambda: self.stats)
        return made

    @pytest.mark.parametrize(
        ("before", "after", "rise"),
        [
            ((300, 400), (350, 1000), 700),
            ((300, 5000), (300, 5000), None),  # an earlier peak that was higher hides it
            (None, None, None),
        ],
    )
    def test_memory_is_the_allocators_peak_above_what_was_in_use(self, framework, before, after, rise):
        def memory_stats(stats):
            return stats and dict(zip(("bytes_in_use", "peak_bytes_in_use"), stats, strict=True))

        self.stats = memory_stats(before)
        read = framework.rise()
        self.stats = memory_stats(after)
        assert read() == rise
