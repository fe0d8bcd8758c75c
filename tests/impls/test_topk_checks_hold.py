"""The approximate variants hold the checks that concern them, and the size of a property is theory's."""

import functools

import pytest

from harness import Unsupported
from harness.xla import figures as xla_figures
from impls.topk.family import FAMILY, TopkWorkload
from tests.impls.jax_case import jit, planned
from tests.impls.test_topk_checks import CHECKS, trial
from tests.impls.variants import TOPK as V

W = TopkWorkload(rows=8, seq=4096, topk=64)
NARROW = TopkWorkload(rows=32, seq=16384, topk=512, distribution="narrow")
OTHERS = ((V.approx, {}), (V.approx_unaggregated, {}), (V.approx_override, {"shards": 4}))
CASES = [*OTHERS, *((V.two_stage, {"buckets": n, "keep": keep}) for n, keep in ((512, 2), (2048, 1)))]


def compiled(variant, w, **options):
    """A variant's trial, compiled, with XLA's own word on the program."""
    import jax

    function = variant(w, **options)
    program = planned(function, FAMILY.shapes(w))
    static = xla_figures.figures(program, jax.default_backend(), lower_s=0.0, compile_s=0.0)

    @functools.wraps(function)
    def call(**inputs):
        return program(**inputs)

    return trial(w, lambda w2: call if w2 == w else jit(variant(w2, **options)), static=static, **options)


@pytest.mark.jax
@pytest.mark.parametrize(("variant", "options"), CASES, ids=lambda case: getattr(case, "name", str(case)))
def test_the_approximate_variants_hold(variant, options):
    made = compiled(variant, W, **options)
    for check in FAMILY.checks:
        try:
            judged = check.judge(made)
        except Unsupported:
            assert "buckets" not in options
            continue
        assert judged.passed, f"{check.name}: {judged.reason}"


@pytest.mark.jax
def test_the_operator_approximates_nothing_here_and_says_so():
    made = compiled(V.approx, W)
    figures = CHECKS["approximation_engaged"].judge(made).figures
    if "PartialReduce" in made.static.custom_calls:
        pytest.skip("a TPU approximates")
    assert figures["approximation"] == "exact by fallback"
    assert figures["lost"] == 0
    assert V.approx.facts(W, made.static, {})["approximation"] == "exact by fallback"


@pytest.mark.jax
def test_two_stages_lose_a_run_of_their_stride_and_keep_one_of_neighbours():
    figures = CHECKS["placement"].judge(compiled(V.two_stage, W, buckets=512, keep=2)).figures
    assert figures["run"] == 1
    assert figures["stride_512"] == figures["worst"] == 16 / 64


def test_coarse_keys_fail_what_they_declare_and_nothing_else():
    declared = V.radix_f16.fails(NARROW, {})
    made = trial(NARROW, V.radix_f16)
    failed = {
        c.name for c in FAMILY.checks if c.decides and c.name != "arm_executed" and not c.judge(made).passed
    }
    assert failed == set(declared) == {"recall_target_strict", "attention_mass_recall", "value_recall"}
    assert not V.radix_f16.fails(W, {})
