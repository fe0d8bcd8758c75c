"""Known figures on absent targets. This file is also the script that compiles for them."""

import json
import sys

import numpy as np
import pytest

from harness.catalog.accelerators import missing_compiler
from harness.core.plain_data import from_plain
from harness.core.static_figures import Collective, Static
from tests.xla.alone import answer_of, static_of, structs_on

pytestmark = [pytest.mark.jax, pytest.mark.full]

TPU, GPU = "tpu:v5p:2x2x1", "cuda:h200"
N = 512
PRODUCT = 2 * N**3
ONCE = "FLOPs and bytes count the body of a loop of unknown length once (body only)"


def compile_for(root, target, *names, seed="0"):
    """The figures of the programs of these names, by name."""
    told = answer_of(root, __file__, target, *names, seed=seed)
    return {name: from_plain(Static, data) for name, data in told.items()}


@pytest.fixture(scope="module")
def tpu(pytestconfig):
    if reason := missing_compiler("tpu"):
        pytest.skip(reason)
    return compile_for(pytestconfig.rootpath, TPU, *COMMON, *SHARDED)


@pytest.fixture(scope="module")
def gpu(pytestconfig):
    if reason := missing_compiler("cuda"):
        pytest.skip(reason)
    return compile_for(pytestconfig.rootpath, GPU, *COMMON)


@pytest.fixture(params=["tpu", "gpu"])
def figures(request):
    return request.getfixturevalue(request.param)


def test_a_product_s_flops_are_counted(figures):
    """A product is a convolution on the TPU, and stays a dot on cuda."""
    opcodes = figures["product"].opcodes
    assert opcodes.get("convolution", 0) + opcodes.get("dot", 0) == 1
    assert figures["product"].flops == pytest.approx(PRODUCT, rel=4e-3)  # a sum of partial products on cuda
    assert figures["product"].argument_bytes == 2 * 4 * N * N
    assert figures["product"].output_bytes == 4 * N * N
    assert figures["product"].bytes_accessed >= 3 * 4 * N * N
    assert figures["product"].peak_bytes >= 2 * 4 * N * N
    assert not figures["product"].body_only


@pytest.mark.parametrize(("name", "turns"), [("scanned", 50), ("nested", 35), ("by_threes", 33)])
def test_a_loop_body_counts_once_per_iteration(figures, name, turns):
    once = figures["product"].flops
    assert figures[name].flops == pytest.approx(turns * once, rel=2e-3)
    assert figures[name].bytes_accessed > turns * 3 * 2 * N * N  # libtpu keeps one factor in bf16
    assert (figures[name].flops_source, figures[name].body_only) == ("optimised_module", False)
    assert figures[name].warnings == ()


def test_a_loop_of_unknown_length_counts_its_body_once(figures):
    assert figures["unknown"].flops == pytest.approx(figures["product"].flops, rel=1e-2)
    assert (figures["unknown"].body_only, figures["unknown"].warnings) == (True, (ONCE,))


def test_the_source_of_flops(tpu, gpu):
    assert (tpu["product"].flops, tpu["product"].flops_source) == (PRODUCT, "compiled")
    assert gpu["product"].flops_source == "optimised_module"


def test_custom_calls_on_cuda_are_not_counted(gpu):
    (call,) = gpu["cholesky"].custom_calls
    assert (gpu["cholesky"].flops, gpu["cholesky"].bytes_accessed) == (None, None)
    assert gpu["cholesky"].unavailable["flops"] == f"the custom call {call} is not counted"


def test_custom_calls_that_libtpu_does_not_know_are_named(tpu):
    assert "Cholesky" in tpu["cholesky"].custom_calls
    assert "FLOPs and bytes may not include" in tpu["cholesky"].warnings[0]


def test_collectives_between_devices(tpu):
    block = 4 * 1024 * 256 // 4
    assert tpu["gathered"].collectives == (Collective("all-gather", 1, 4 * block),)
    assert tpu["summed"].collectives == (Collective("all-reduce", 1, block),)
    assert tpu["scattered"].collectives == (Collective("reduce-scatter", 1, block),)
    assert tpu["exchanged"].collectives == (Collective("all-to-all", 1, block),)
    assert tpu["passed_on"].collectives == (Collective("collective-permute", 10, 10 * block),)
    assert tpu["product"].collectives == ()
    assert tpu["gathered"].argument_bytes == block


def test_a_hash_has_no_names_and_no_devices(figures):
    assert figures["scanned"].program == figures["renamed"].program == figures["elsewhere"].program
    assert figures["scanned"].program != figures["nested"].program


@pytest.mark.parametrize(("kind", "target", "wider"), [("tpu", TPU, "tpu:v5p:4x4x4"), ("cuda", GPU, GPU)])
def test_a_hash_is_the_same_in_every_process(request, pytestconfig, kind, target, wider):
    here = request.getfixturevalue({"tpu": "tpu", "cuda": "gpu"}[kind])
    again = compile_for(pytestconfig.rootpath, wider, "scanned", seed="7")
    assert again["scanned"].program == here["scanned"].program


def main(target, names):
    import jax

    from harness.xla.compiler import target_devices

    devices = target_devices(target)
    statics = {}
    for name in names:
        if name in SHARDED:
            function, structs = sharded(name, devices)
        else:
            function, *shapes = PROGRAMS[name]
            structs = structs_on(devices[-1 if name == "elsewhere" else 0], *shapes)
        statics[name] = static_of(jax.jit(function).lower(*structs).compile(), target.split(":")[0])
    print(json.dumps(statics))


def step(x, w):
    import jax

    return jax.numpy.tanh(x @ w)


def scanned(x, w, length=50):
    import jax

    return jax.lax.scan(lambda c, _: (step(c, w), None), x, None, length=length)[0]


def renamed(first, second):
    return scanned(first, second)


def nested(x, w):
    import jax

    return jax.lax.fori_loop(0, 5, lambda _, c: scanned(c, w, 7), x)


def by_threes(x, w):
    import jax

    return jax.lax.while_loop(lambda s: s[0] < 100, lambda s: (s[0] + 3, step(s[1], w)), (1, x))[1]


def unknown(x, w):
    import jax

    return jax.lax.while_loop(lambda c: c[0, 0] < 10, lambda c: step(c, w), x)


def cholesky(x):
    import jax

    return jax.numpy.linalg.cholesky(x)


def sharded(name, devices):
    import jax
    from jax.sharding import Mesh, NamedSharding
    from jax.sharding import PartitionSpec as P

    mesh = Mesh(np.array(devices), ("x",))
    ring = [(at, (at + 1) % len(devices)) for at in range(len(devices))]
    split, whole = P("x"), P()
    function, before, after = {
        "gathered": (lambda x: jax.lax.all_gather(x, "x", tiled=True), split, whole),
        "summed": (lambda x: jax.lax.psum(x, "x"), split, whole),
        "scattered": (lambda x: jax.lax.psum_scatter(x, "x", tiled=True), whole, split),
        "exchanged": (lambda x: jax.lax.all_to_all(x, "x", 1, 0, tiled=True), split, split),
        "passed_on": (
            lambda x: jax.lax.fori_loop(0, 10, lambda _, c: jax.lax.ppermute(c * 2, "x", ring), x),
            split,
            split,
        ),
    }[name]
    struct = jax.ShapeDtypeStruct((1024, 256), "float32", sharding=NamedSharding(mesh, before))
    return jax.shard_map(function, mesh=mesh, in_specs=before, out_specs=after, check_vma=False), [struct]


SQUARES = ((N, N), (N, N))
PROGRAMS = {
    "product": (lambda x, w: x @ w, *SQUARES),
    "scanned": (scanned, *SQUARES),
    "renamed": (renamed, *SQUARES),
    "elsewhere": (scanned, *SQUARES),
    "nested": (nested, *SQUARES),
    "by_threes": (by_threes, *SQUARES),
    "unknown": (unknown, *SQUARES),
    "cholesky": (cholesky, (256, 256)),
}
COMMON = ("product", "scanned", "renamed", "elsewhere", "nested", "by_threes", "unknown", "cholesky")
SHARDED = ("gathered", "summed", "scattered", "exchanged", "passed_on")

if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
