"""The planned peak of every eager torch implementation, against what torch's allocator was asked for."""

from pathlib import Path

import numpy as np
import pytest

from harness.catalog import loading
from harness.catalog.build import build
from harness.catalog.discovery import builtin
from harness.core.case import Case
from harness.core.errors import Unsupported
from harness.sweep.overrides import Overrides
from harness.sweep.project import Project
from tests.worker.frameworks.torch.allocator import high_water

pytestmark = [pytest.mark.torch, pytest.mark.full]
CATALOG = builtin()
EAGER = [info.id for info in CATALOG.implementations.values() if info.framework == "torch"]
LENGTHS = ("256", "512")
NEAR = 0.02
NARROW = {"mla": {"nope": 16, "rope": 8, "v": 24, "batch": 1}}  # else gradients of weights take a minute
CHUNK = {"queries": 96}  # of the last tokens; by default there are more than tokens here
FEW = {"topk": ("2",)}  # of a row's scores: more than there are cannot be selected
# Shapes depend on data, as those of packed sequences of others do, or numpy computes: fake tensors have none.
UNTRACEABLE = {
    "attention/lists_transposed_compact",
    "attention/nsa_mslk_padded",
    "offsets/thd_segments",
    "offsets/torch_unique",
    "topk/block_maxima_host",
}
# torch.compile decides what its kernels keep; Triton's run on no cpu; in no suite of bench.yaml.
COMPILED = {"attention/dense_flex", "attention/given_blocks_flex", "mla/flex"}
ELSEWHERE = COMPILED | {"attention/nsa_fla", "attention/given_blocks_gather"}
# Autograd adds a gradient to another in place, but not where they are fake tensors (`can_accumulate_inplace`
# in torch/csrc/autograd/input_buffer.cpp): planned are up to so many more bytes, of the peak.
ABOVE = {("attention/nsa_paper_decode", "fwd_bwd"): 0.03}
FORMS = ("stage", "phase", "varlen", "weights", "steps", "kind", "seq")  # of a workload: one case of each


@pytest.fixture(scope="module")
def framework():
    torch = pytest.importorskip("torch")
    from harness.worker.frameworks.torch.framework import Torch

    before = torch.get_num_threads()
    made = Torch()
    made.start("cpu", 1, wide=False)
    yield made
    torch.set_num_threads(before)
    torch.set_grad_enabled(True)


@pytest.fixture(scope="module")
def cases():
    """Every form of a workload in bench.yaml in which an implementation occurs, at two lengths, in f32."""
    project = Project(Path(__file__).resolve().parents[2] / "bench.yaml")
    found = {}
    for suite in project.config.suites:
        if any(part in suite for part in ("context", "planned", "kernels", "benchmark")):
            continue
        fields = FEW if suite.startswith(("mask", "topk")) else {}
        for group in project.plan([suite], Overrides(seqs=LENGTHS, fields=fields)).groups:
            for case in group.cases:
                fields = dict(case.workload)
                form = tuple(fields.get(name) for name in FORMS)
                if fields.get("dtype", "f32") == "f32":
                    found.setdefault(case.implementation, {}).setdefault((case.options, form), case)
    return {name: list(forms.values()) for name, forms in found.items()}


def measured(framework, case, mode):
    """(planned bytes above the arguments, measured ones, arguments); the reason where there is no plan."""
    from harness.worker.frameworks.base import Patience
    from harness.worker.frameworks.torch.arrays import empty
    from harness.worker.frameworks.torch.binding import bind
    from harness.worker.frameworks.torch.trace import figures

    drawn = dict(case.workload)
    chunk = CHUNK if "chunk" in {drawn.get("stage"), drawn.get("phase")} else {}
    fields = {**drawn, **NARROW.get(case.implementation.split("/")[0], {}), **chunk}
    made = Case.of(case.implementation, dict(case.options), fields, mode, "cpu")
    built = build(loading.load(CATALOG.implementation(case.implementation).module), made)
    framework.enter(mode, wide=False)

    def fake():
        return {name: empty(built.shapes[name], framework.device) for name in built.names}

    def bound(inputs, cotangent):
        return bind(built.function, built.names, mode, inputs, cotangent)

    static = figures(bound, fake, Patience(300.0, 1 << 50), threads=framework.threads)
    if static.planned_bytes is None:
        return static.unavailable["temp_bytes"]
    inputs = built.family.inputs(built.workload, np.random.default_rng(0))
    call = bound(framework.put({name: inputs[name] for name in built.names}), None)
    call()  # what is made once and kept is no part of a call
    return static.planned_bytes - static.argument_bytes, high_water(call)[0], static.argument_bytes


@pytest.mark.parametrize("mode", ["fwd", pytest.param("fwd_bwd", marks=pytest.mark.long)])
@pytest.mark.parametrize("name", [name for name in EAGER if name not in ELSEWHERE])
def test_the_planned_peak_is_what_the_allocator_is_asked_for(framework, cases, name, mode):
    compared, reasons = {}, set()
    for case in cases[name]:
        try:
            answer = measured(framework, case, mode)
        except (Unsupported, TypeError):  # it has no backward
            assert mode != "fwd"
            continue
        if isinstance(answer, str):
            reasons.add(answer)
        else:
            planned, high, arguments = answer
            compared[case.id] = (planned - high) / (arguments + high)
    above = ABOVE.get((name, mode), NEAR)
    assert {case: off for case, off in compared.items() if not -NEAR <= off <= above} == {}
    if mode == "fwd":
        assert bool(compared) == (name not in UNTRACEABLE)
    told = (
        "DynamicOutput",
        "DataDependent",
        "RuntimeError: .numpy()",
        "Unsupported",
        "TypeError: the result",
    )
    known = tuple(f"fake tensors cannot trace it: {why}" for why in told)
    assert [reason for reason in reasons if not reason.startswith(known)] == []


def test_what_is_listed_exists():
    assert {*UNTRACEABLE, *ELSEWHERE, *(name for name, _ in ABOVE)} <= {*EAGER}
