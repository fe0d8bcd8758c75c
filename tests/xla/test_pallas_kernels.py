"""Pallas kernels of traced programs. This file is also the script that compiles them for a TPU."""

import json
import sys

import pytest

from harness.catalog.accelerators import missing_compiler, target
from harness.core.errors import Unsupported
from tests.xla.alone import answer_of, static_of, structs_on

pytestmark = pytest.mark.jax
ROWS, COLUMNS, BLOCK = 8192, 4096, 64
FLOAT = 4


def call(x, more=0, **options):
    """Doubles in one kernel; `more` changes only its body."""
    import jax
    import jax.numpy as jnp
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import tpu as pltpu

    def double(x_ref, y_ref, held, done, number):
        del done, number
        held[...] = x_ref[...] + x_ref[...]
        y_ref[...] = held[...] + more

    rows = pl.BlockSpec((BLOCK, COLUMNS), lambda i: (i, 0))
    scratch = [
        pltpu.VMEM((BLOCK, COLUMNS), jnp.float32),
        pltpu.SemaphoreType.DMA((2,)),
        pltpu.SMEM((1,), "int32"),
    ]
    return pl.pallas_call(
        double,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        grid=(ROWS // BLOCK,),
        in_specs=[rows],
        out_specs=rows,
        scratch_shapes=scratch,
        **options,
    )(x)


def twice(x):
    import jax

    return call(jax.jit(call)(x))


def looped(x):
    import jax

    return jax.lax.fori_loop(0, 3, lambda _, x: call(x, more=1), x)


PROGRAMS = {"twice": twice, "looped": looped, "other": lambda x: call(x, more=1), "least": call}


def test_kernels_for_another_kind_of_target_are_refused_in_one_sentence():
    import jax
    from jax.experimental.pallas import triton

    from harness.xla.gpu_kernels import refuse_unlowered

    x, error = jax.ShapeDtypeStruct((ROWS, COLUMNS), "float32"), ValueError("no such memory\nand more")
    with pytest.raises(Unsupported, match=r"are not for cuda:h100: .* jax reports: no such memory$"):
        refuse_unlowered(error, jax.make_jaxpr(looped)(x), target("cuda:h100"))
    refuse_unlowered(error, jax.make_jaxpr(lambda x: x + 1)(x), target("cuda:h100"))
    refuse_unlowered(error, jax.make_jaxpr(looped)(x), target("tpu:v5p"))
    for_gpus = jax.make_jaxpr(lambda x: call(x, compiler_params=triton.CompilerParams()))(x)
    refuse_unlowered(error, for_gpus, target("cuda:h100"))
    with pytest.raises(Unsupported, match="are not for tpu:v5p: "):
        refuse_unlowered(error, for_gpus, target("tpu:v5p"))


@pytest.mark.full
@pytest.mark.skipif(missing_compiler("tpu") is not None, reason=str(missing_compiler("tpu")))
def test_kernels_are_found_and_distinguished(pytestconfig):
    told = answer_of(pytestconfig.rootpath, __file__, *PROGRAMS)
    (kernel,) = told["twice"]["tpu_kernels"]
    assert (kernel["kernel"], kernel["calls"], kernel["grid"]) == ("double", 2, [ROWS // BLOCK])
    assert kernel["source"].startswith("test_pallas_kernels.py:")
    assert kernel["scratch_bytes"] == BLOCK * COLUMNS * FLOAT + FLOAT
    assert kernel["semaphores"] == 2
    assert kernel["vmem_bytes"] >= 4 * BLOCK * COLUMNS * FLOAT
    assert [(block["operand"], block["block"]) for block in kernel["blocks"]] == [
        ("x_ref", [BLOCK, COLUMNS]),
        ("y_ref", [BLOCK, COLUMNS]),
    ]
    (other,), (inside,) = (told[name]["tpu_kernels"] for name in ("other", "looped"))
    assert other["program"] != kernel["program"]
    assert told["other"]["program"] != told["least"]["program"]
    assert (inside["kernel"], inside["calls"]) == ("double", 1)


def main(names):
    import jax

    from harness.xla.compiler import target_devices
    from harness.xla.pallas_kernels import pallas_kernels

    (device, *_) = target_devices("tpu:v5p")
    told = {}
    for name in names:
        with jax.default_device(device):
            traced = jax.jit(PROGRAMS[name]).trace(*structs_on(device, (ROWS, COLUMNS)))
            kernels = [each.figures for each in pallas_kernels(traced.jaxpr, device, target("tpu:v5p"))]
            told[name] = static_of(traced.lower().compile(), "tpu", kernels=kernels)
    print(json.dumps(told))


if __name__ == "__main__":
    main(sys.argv[1:])
