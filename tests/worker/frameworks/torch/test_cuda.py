"""Clocks, kernels, and capture and replay of calls, on a fake device."""

from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from harness.core.case import Case
from harness.core.errors import Unsupported
from harness.core.protocol import Job
from harness.core.static_figures import Static
from harness.worker import array_files
from harness.worker.case_worker import CaseWorker
from harness.worker.frameworks import base as frameworks
from harness.worker.frameworks.base import Prepared

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


def capture(call):
    from harness.worker.frameworks.torch import cuda

    return cuda.capture(call)


def doubling(device, x):
    """A call of two work items that doubles its input."""

    def call():
        out = torch.empty_like(x)
        device.launch("double", lambda: out.copy_(2 * x))
        device.launch("more")
        return out

    return call


def test_capture_runs_only_warm_up_calls(device):
    from harness.worker.frameworks.torch.cuda import WARM_CALLS

    replay = capture(doubling(device, torch.ones(3)))
    assert device.done == ["wait", *["double", "more"] * WARM_CALLS, "wait"]
    assert device.streams == 1
    device.done.clear()
    assert replay().tolist() == [2, 2, 2]
    assert device.done == ["double", "more"]


def test_every_replay_reads_its_inputs_and_overwrites_its_result(device):
    x = torch.ones(3)
    replay = capture(doubling(device, x))
    first = replay()
    x.fill_(5)
    assert replay() is first
    assert first.tolist() == [10, 10, 10]


def test_a_synchronising_call_is_refused_with_cudas_message_and_a_remedy(device):
    def call():
        torch.cuda.synchronize()

    with pytest.raises(Unsupported) as refused:
        capture(call)
    assert str(refused.value) == (
        "the call cannot be captured as a CUDA graph (RuntimeError: CUDA error: operation not permitted when "
        "stream is capturing); remove synchronisation (.item(), nonzero, copies to the host), "
        "allocation without torch and value-dependent shapes from the call"
    )


JAX = pytest.param("jax", r"already runs kernels in command buffers .* omit --graphs", marks=pytest.mark.jax)


@pytest.mark.parametrize(("name", "why"), [("numpy", "omit --graphs"), ("torch", "omit --graphs"), JAX])
def test_graphs_are_refused_without_torch_on_cuda(name, why):
    pytest.importorskip(name)
    with pytest.raises(Unsupported, match=why):
        type(frameworks.get(name))().capture(lambda: None)


class FakeCuda(frameworks.get("torch").__class__):
    """torch on the host, which sends its work to the fake device."""

    def timer(self):
        from harness.worker.frameworks.torch.cuda import cuda_events
        from harness.worker.timers import Timer

        return Timer("cuda_events", "flushed", cuda_events())

    def capture(self, call):
        return capture(call)

    def wake(self):
        """A no-op: host threads do not take part."""


WORKLOAD = {"batch": 1, "rows": 4, "seq": 256, "topk": 8, "recall": 0.95, "distribution": "iid"}
CALL = ["flush", "event", "double", "more", "event"]
FRESH = {"inputs": "fresh0", "cotangent": None, "result": "answer"}


@pytest.fixture
def worker(device, tmp_path):
    """The worker of a case with an input `x`: its sets are ones and twos, new values are sevens."""

    def make(mode="fwd"):
        case = Case.of("topk/exact", {}, {**WORKLOAD, "dtype": "f32"}, mode)
        made = CaseWorker(Job("case", "torch", "", case, "a group", str(tmp_path), 0, 1, 1 << 30))
        made.framework, made.names = FakeCuda(), ("x",)
        made.prepared = Prepared(lambda inputs, _: doubling(device, inputs["x"]), Static.none("made up"))
        return made

    for name, value in (("set1", 1.0), ("set2", 2.0), ("fresh0", 7.0)):
        array_files.write(tmp_path / name, {"x": torch.full((3,), value).numpy()})
    return make


@pytest.fixture(autouse=True)
def collector_stays_on(monkeypatch):
    for name in ("freeze", "disable"):
        monkeypatch.setattr(f"gc.{name}", lambda: None)


def test_a_replay_is_timed_like_a_call(worker, device):
    made = worker()
    ready = made.do_ready(2, cotangents=False, graphs=True)
    assert ready == {"method": "cuda_graph", "cache": "flushed", "reason": ""}
    device.done.clear()
    answer = made.do_sample(2, 3, warm=False)
    assert device.done == [*CALL * 6, "synchronize", "double", "more"]
    assert answer["samples_s"] == [pytest.approx(3e-6)] * 2, "from one event to the other"
    assert answer["latency_s"] > 0


@pytest.mark.parametrize("sets", [1, 2])
def test_new_values_are_written_to_the_captured_addresses(worker, tmp_path, sets):
    made = worker()
    made.do_ready(sets, cotangents=False, graphs=True)
    made.do_sample(3, 1, warm=True, fresh=FRESH)
    handed = array_files.read(tmp_path / "answer")
    assert handed["result"].tolist() == [14, 14, 14]
    assert handed["inputs"]["x"].tolist() == [7, 7, 7]


def test_a_cotangent_is_refilled_in_place(worker, tmp_path):
    for name, value in (("cotangent0", 1.0), ("drawn", 3.0)):
        array_files.write(tmp_path / name, (torch.full((3,), value).numpy(),))
    made = worker("fwd_bwd")
    made.do_ready(1, cotangents=True, graphs=True)
    inputs, (seed,) = made.captured
    made._refill("fresh0", "drawn")
    assert (inputs["x"].tolist(), seed.tolist()) == ([7, 7, 7], [3, 3, 3])


def test_a_graph_of_a_backward_is_refused(worker):
    with pytest.raises(Unsupported, match="use --mode fwd_bwd"):
        worker("bwd").do_ready(2, cotangents=True, graphs=True)


@pytest.fixture
def framework():
    from harness.worker.frameworks.torch.framework import Torch

    made = Torch()
    made.device = torch.device("cuda")
    return made


def test_every_call_is_timed_by_its_own_events_after_a_flush(device):
    from harness.worker.frameworks.torch.cuda import cuda_events

    read = cuda_events()
    calls = [lambda: device.launch("call")] * 2
    assert read(calls, 2, None) == pytest.approx([2 * 2e-6] * 2), "milliseconds, added up"
    assert device.done == [*["flush", "event", "call", "event"] * 4, "synchronize"]


def test_events_longer_than_host_time_are_refused(device, monkeypatch):
    from harness.worker.frameworks.torch.cuda import cuda_events

    monkeypatch.setattr("torch.cuda.Event.elapsed_time", lambda *_: 60_000.0)
    with pytest.raises(RuntimeError, match=r"reports 60\.0 s for calls that took 1\.00 s on the host"):
        cuda_events()([lambda: None], 1, None)


@pytest.mark.parametrize("on_device", [True, False])
def test_kernels_are_the_profilers_device_events_in_order(framework, device, monkeypatch, on_device):
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
        assert framework.kernels(lambda: device.launch("call")) == ["first", "second"]
        assert device.done == ["call", "synchronize"]
    else:
        with pytest.raises(Unsupported, match="has no GPU events"):
            framework.kernels(lambda: None)


def test_memory_is_the_allocators_peak_growth(framework, monkeypatch):
    stats = {"peak": 900, "now": 300}
    monkeypatch.setattr(torch.cuda, "reset_peak_memory_stats", lambda: stats.update(peak=stats["now"]))
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda: stats["now"])
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda: stats["peak"])
    rise = framework.track_peak()
    assert rise() == 0
    stats.update(peak=1000)
    assert rise() == 700
