"""Capture and replay of a call, on a device that is made up: one list of work, and graphs of it.

No GPU has run this. What stands in for torch.cuda has the documented calls: work that is enqueued while a
graph is captured does not run, and runs at every replay, on the same storage.
"""

from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from harness.core.case import Case
from harness.core.errors import Unsupported
from harness.core.protocol import Job
from harness.core.static_figures import Static
from harness.worker import array_files
from harness.worker.frameworks import base as frameworks
from harness.worker.frameworks.base import Prepared
from harness.worker.graph_worker import GraphWorker

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


class Device:
    """A stream of work; `done` is what ran, `now` a clock in milliseconds that each piece moves by one."""

    def __init__(self):
        self.done, self.now, self.capturing, self.streams = [], 0, None, 0

    def launch(self, name, kernel=lambda: None):
        if self.capturing is not None:
            self.capturing.append((name, kernel))
            return
        kernel()
        self.done.append(name)
        self.now += 1

    def synchronize(self):
        if self.capturing is not None:
            raise RuntimeError("CUDA error: operation not permitted when stream is capturing\nSearch for …")
        self.done.append("synchronize")


@pytest.fixture
def device(monkeypatch):
    made = Device()

    class Event:
        def __init__(self, *, enable_timing, external):
            assert enable_timing
            assert external, "an event that is not external cannot be read after a replay"

        def record(self):
            made.launch("event", lambda: setattr(self, "at", made.now))

        def elapsed_time(self, other):
            return float(other.at - self.at)

    class CUDAGraph:
        def replay(self):
            for name, kernel in self.work:
                made.launch(name, kernel)

    class Stream:
        def wait_stream(self, other):
            made.done.append("wait")

    @contextmanager
    def capture(graph):
        made.capturing, graph.work = [], None
        try:
            yield
        except RuntimeError:
            raise RuntimeError("CUDA error: operation failed due to a previous error") from None
        finally:
            graph.work, made.capturing = made.capturing, None

    @contextmanager
    def stream(_):
        made.streams += 1
        yield

    for name, value in {
        "Event": Event,
        "CUDAGraph": CUDAGraph,
        "Stream": Stream,
        "graph": capture,
        "stream": stream,
        "current_stream": Stream,
        "synchronize": made.synchronize,
    }.items():
        monkeypatch.setattr(torch.cuda, name, value)
    return made


def capture(device, call):
    from harness.worker.frameworks.torch.graphs import TorchGraph

    return TorchGraph(call, SimpleNamespace(zero_=lambda: device.launch("flush")))


def doubling(device, x):
    """A call of two pieces of work whose result is its input, doubled."""

    def call():
        out = torch.empty_like(x)
        device.launch("double", lambda: out.copy_(2 * x))
        device.launch("more")
        return out

    return call


REPLAY = ["flush", "event", "double", "more", "event"]


def test_a_replay_overwrites_the_cache_inside_the_graph_and_times_the_call_alone(device):
    from harness.worker.frameworks.torch.graphs import WARM_CALLS

    graph = capture(device, doubling(device, torch.ones(3)))
    assert device.done == ["wait", *["double", "more"] * WARM_CALLS, "wait"], "capturing runs nothing"
    assert device.streams == 1
    device.done.clear()
    assert graph.read(2) == pytest.approx(2 * 3e-3), "from one event to the other, milliseconds"
    assert device.done == [*REPLAY, "synchronize"] * 2


def test_every_replay_reads_its_inputs_anew(device):
    x = torch.ones(3)
    graph = capture(device, doubling(device, x))
    x.fill_(5)
    graph.read(1)
    assert graph.result.tolist() == [10, 10, 10]


def test_what_synchronises_is_a_sentence_with_cudas_words_and_the_remedy(device):
    def call():
        torch.cuda.synchronize()

    with pytest.raises(Unsupported) as refused:
        capture(device, call)
    assert str(refused.value) == (
        "it cannot be captured as a CUDA graph (RuntimeError: CUDA error: operation not permitted when "
        "stream is capturing); what synchronises (.item(), nonzero, copies to the host), "
        "allocates beside torch or has shapes that depend on values has to go from the call"
    )


JAX = pytest.param("jax", r"command buffers itself .* is not measured twice", marks=pytest.mark.jax)


@pytest.mark.parametrize(
    ("name", "why"), [("numpy", "leave out --graphs"), ("torch", "leave out --graphs"), JAX]
)
def test_off_cuda_there_are_none_and_xla_has_its_own(name, why):
    pytest.importorskip(name)
    with pytest.raises(Unsupported, match=why):
        type(frameworks.get(name))().capture(lambda: None)


class FakeCuda(frameworks.get("torch").__class__):
    """torch on the host, whose work goes to the device that is made up."""

    def __init__(self, device):
        self.fake = device

    def capture(self, call):
        return capture(self.fake, call)


WORKLOAD = {"batch": 1, "rows": 4, "seq": 256, "topk": 8, "recall": 0.95, "distribution": "iid"}


@pytest.fixture
def worker(device, tmp_path):
    """One that has been made ready with two sets of an input `x`, of ones and of twos."""

    def make(mode="fwd"):
        case = Case.of("topk/exact", {}, {**WORKLOAD, "dtype": "f32"}, mode)
        made = GraphWorker(Job("case", "torch", "", case, "a group", str(tmp_path), 0, 1, 1 << 30))
        made.framework, made.names = FakeCuda(device), ("x",)

        def bind(inputs, cotangent):
            return doubling(device, inputs["x"])

        made.prepared = Prepared(bind, Static.none("made up"))
        made.inputs = [{"x": torch.full((3,), value)} for value in (1.0, 2.0)]
        made.calls = [bind(inputs, None) for inputs in made.inputs]
        made.read = lambda call, inner, keep=None: (call(), 1e-3 * inner)[1]
        return made

    array_files.write(tmp_path / "fresh-replay", {"x": torch.full((3,), 7.0).numpy()})
    return make


def test_a_replay_is_judged_on_fresh_values_in_the_graphs_own_storage(worker, tmp_path):
    made = worker()
    assert made.do_capture(None) == {"method": "graph_events", "cache": "flushed"}
    fresh = {"inputs": "fresh-replay", "cotangent": None, "result": "answer"}
    assert made.do_replay(1, fresh) == {"replay_s": pytest.approx(3e-3), "eager_s": 1e-3}
    handed = array_files.read(tmp_path / "answer")
    assert handed["result"].tolist() == [14, 14, 14]
    assert handed["inputs"]["x"].tolist() == [7, 7, 7]


def test_readings_are_per_call_and_each_way_is_first_in_turn(worker, device):
    made = worker()
    made.do_capture(None)
    orders = []
    for _ in range(2):
        device.done.clear()
        assert made.do_replay(4) == {"replay_s": pytest.approx(3e-3), "eager_s": pytest.approx(1e-3)}
        orders.append(device.done[0])
    assert sorted(orders) == ["double", "flush"]


def test_a_pullback_alone_is_refused(worker):
    with pytest.raises(Unsupported, match="take --mode fwd_bwd"):
        worker("bwd").do_capture("cotangent0")
