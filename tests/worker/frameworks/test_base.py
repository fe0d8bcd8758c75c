import numpy as np
import pytest

from harness.catalog.arrays import Array, numpy_dtype
from harness.core.errors import Unsupported
from harness.worker.frameworks import base as frameworks
from harness.worker.frameworks.base import TraceLimits
from tests.worker.frameworks.start import start_framework

NAMES = ["numpy", pytest.param("torch", marks=pytest.mark.torch), pytest.param("jax", marks=pytest.mark.jax)]
LIMITS = TraceLimits(10.0, 1 << 40)


@pytest.fixture(scope="module", params=NAMES)
def framework(request):
    yield from start_framework(request.param)


@pytest.mark.parametrize("dtype", ["f32", "bf16", "f16", "i32", "bool", "c64", "f64", "i64"])
def test_arrays_are_unchanged_by_a_round_trip(framework, dtype):
    for shape in ((), (3,), (2, 0), (2, 3)):
        check_return(framework, dtype, shape)


def check_return(framework, dtype, shape):
    array = np.asarray(np.random.default_rng(2).standard_normal(shape) * 9).astype(numpy_dtype(dtype))
    array.flags.writeable = False
    again = framework.get(framework.put({"b": (array,), "a": array}))
    assert list(again) == ["b", "a"]
    for leaf in (again["a"], again["b"][0]):
        assert (leaf.dtype, leaf.shape) == (array.dtype, shape)
        assert leaf.tobytes() == array.tobytes()


def test_put_copies(framework):
    array = np.arange(4.0)
    put = framework.put(array)
    array[:] = 7
    assert framework.get(put).tolist() == [0, 1, 2, 3]


def test_refill_writes_new_values_in_place_if_arrays_are_mutable(framework):
    target = framework.put({"b": np.zeros(3), "a": np.zeros(2)})
    again = framework.refill(target, {"b": np.arange(3.0), "a": np.ones(2)})
    assert framework.get(again["b"]).tolist() == [0, 1, 2]
    assert framework.get(again["a"]).tolist() == [1, 1]
    if "Jax" not in type(framework).__name__:
        assert again["b"] is target["b"]


def test_a_result_is_overwritten_except_in_memory_of_an_input(framework):
    scores, result = framework.put({"x": np.arange(6.0)}), framework.put([np.zeros(3), np.zeros(2, bool)])
    framework.overwrite((*result, scores["x"][:2], None), [scores])
    kept, left = framework.get(scores["x"]).tolist(), [framework.get(part).tolist() for part in result]
    assert kept == [0, 1, 2, 3, 4, 5]
    immutable = "Jax" in type(framework).__name__
    assert left == ([[0, 0, 0], [False, False]] if immutable else [[77, 77, 77], [True, True]])


@pytest.mark.parametrize("stranger", [None, "text", 3, [1.0, 2.0], {"a": object()}])
def test_a_result_of_another_type_is_refused(framework, stranger):
    with pytest.raises(TypeError, match="the callable returned"):
        framework.get(stranger)


def test_an_unsupported_device_is_refused_with_a_remedy(framework):
    with pytest.raises(Unsupported, match=r"(?i)tpu"):
        framework.start("tpu", 1, wide=False)
    with pytest.raises(Unsupported, match=r"pip install|runs on the cpu"):
        framework.start("cuda", 1, wide=False)


def test_cpu_calls_are_timed_by_the_hosts_clock(framework):
    timer = framework.timer()
    assert (timer.method, timer.cache, timer.reason) == ("wall", "rotated", "")
    assert timer.read([lambda: framework.put(np.ones(3))], 2, None)[0] > 0


class TestNumpy:
    @pytest.fixture
    def numpy(self):
        return frameworks.get("numpy")

    def test_only_argument_bytes_are_known(self, numpy):
        shapes = {"x": Array((4, 8), "f32"), "unused": Array((100,), "f64")}
        prepared = numpy.prepare(lambda x: x + 1, ("x",), shapes, "fwd", LIMITS)
        assert prepared.static.argument_bytes == 128
        assert set(prepared.static.unavailable) >= {"temp_bytes", "flops", "program"}
        assert prepared.bind({"x": np.zeros(2), "unused": None}, None)().tolist() == [1, 1]

    @pytest.mark.parametrize("mode", ["bwd", "fwd_bwd"])
    def test_it_has_no_backward(self, numpy, mode):
        with pytest.raises(Unsupported, match=f"numpy has no mode {mode}; use --mode fwd"):
            numpy.prepare(lambda x: x, ("x",), {"x": Array((1,), "f32")}, mode, LIMITS)

    def test_blas_uses_the_requested_threads(self, printed):
        code = """
import ctypes, re
from pathlib import Path
import numpy as np
from harness.worker.frameworks.numpy import limit_blas
paths = set(re.findall(r"/\\S*openblas\\S*", Path("/proc/self/maps").read_text()))
for path in paths:
    for name in ("scipy_openblas_get_num_threads64_", "openblas_get_num_threads"):
        if hasattr(ctypes.CDLL(path), name):
            limit_blas(2)
            before = getattr(ctypes.CDLL(path), name)()
            limit_blas(1)
            print(before, getattr(ctypes.CDLL(path), name)())
"""
        found = set(printed(code, OPENBLAS_NUM_THREADS="2"))
        if not found:
            pytest.skip("numpy's BLAS is no OpenBLAS")
        assert found == {"2 1"}


@pytest.mark.parametrize("name", NAMES)
def test_preloading_starts_no_thread_and_no_backend(printed, name):
    code = """
import os, sys
from harness.worker.frameworks import base as frameworks
frameworks.preload([sys.argv[1]])
import harness.worker.request_loop
print(len(os.listdir("/proc/self/task")))
if "jax" in sys.modules:
    from jax._src import xla_bridge
    assert not xla_bridge._backends
print([other for other in ("numpy", "torch", "jax", "scipy", "pandas") if other in sys.modules])
"""
    tasks, loaded = printed(code, name, OPENBLAS_NUM_THREADS="1")
    assert tasks == "1"
    assert {"torch", "jax"} & set(eval(loaded)) == {name} - {"numpy"}
