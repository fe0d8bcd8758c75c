"""TPU programs with modules that jaxlib rejects unless they are rewritten.

This file is also the script that compiles those.
"""

import json
import sys

import pytest

from harness.catalog.accelerators import missing_compiler
from harness.core.plain_data import from_plain
from harness.core.static_figures import Static
from tests.xla.alone import answer_of, static_of, structs_on
from tests.xla.test_figures_foreign import TPU

LENGTH = 4096  # of places looked up


@pytest.fixture(scope="module")
def tpu(pytestconfig):
    if reason := missing_compiler("tpu"):
        pytest.skip(reason)
    return answer_of(pytestconfig.rootpath, __file__, TPU)


@pytest.mark.jax
@pytest.mark.full
def test_a_program_that_jaxlib_refuses_has_all_its_figures(tpu):
    if not tpu["refused"]:
        pytest.skip("jaxlib reads this libtpu's modules as they are")
    static, in_turns = (from_plain(Static, tpu["statics"][name]) for name in ("looked_up", "in_turns"))
    assert (static.body_only, static.collectives) == (False, ())
    assert static.custom_calls
    assert in_turns.flops == pytest.approx(10 * (static.flops + LENGTH), rel=1e-3)  # the ten are summed up
    assert {*static.unavailable, *in_turns.unavailable} == {"optimal_s"}


def main(target):
    import jax

    from harness.xla.compiler import target_devices

    devices = target_devices(target)

    def of(function, *shapes):
        return jax.jit(function).lower(*structs_on(devices[-1], *shapes, dtype="int32")).compile()

    table, places = (1 << 19,), (LENGTH,)
    programs = {
        "looked_up": of(looked_up, table, places),
        "in_turns": of(in_turns, table, (10, *places)),
    }
    try:
        programs["looked_up"].runtime_executable().hlo_modules()
        refused = False
    except RuntimeError:
        refused = True
    statics = {name: static_of(one, "tpu") for name, one in programs.items()}
    print(json.dumps({"statics": statics, "refused": refused}))


def looked_up(table, places):
    return table[places]


def in_turns(table, places):
    import jax

    return jax.lax.scan(lambda total, row: (total + table[row], None), places[0], places)[0]


if __name__ == "__main__":
    main(sys.argv[1])
