"""Judge an implementation's answer by its family's contract and checks, in this process."""

from collections.abc import Mapping
from contextlib import suppress
from functools import partial

import numpy as np

from harness import Evidence, Unsupported
from tests.impls import jax_case, torch_case
from tests.impls.torch_case import named, run_marks, tensors
from tests.impls.trials import trial_of


def assert_passed(judgement):
    """Require a pass; return its figures."""
    assert judgement.passed, judgement.reason
    return judgement


def assert_failed(judgement, says=""):
    """Require a failure; `says` is a part of its reason."""
    assert not judgement.passed, "it passed"
    assert says in judgement.reason
    return judgement


def drawn(family, w, seed=0):
    return dict(family.inputs(w, np.random.default_rng(seed)))


def is_double(w):
    return getattr(w, "dtype", "") == "f64"


def numpy_of(result):
    """A result with its own structure, as numpy: floating tensors in double precision, which is exact."""
    if isinstance(result, Mapping):
        return {name: numpy_of(part) for name, part in result.items()}
    if isinstance(result, list | tuple):
        return tuple(numpy_of(part) for part in result)
    if hasattr(result, "detach"):
        result = result.detach()
        return (result.double() if result.is_floating_point() else result).numpy()
    return np.asarray(result)


def answer(framework, function, inputs, *, x64=False):
    """The result for the inputs that a callable names."""
    if framework == "jax":
        return jax_case.run(jax_case.jit(function), inputs, x64=x64)
    if framework == "torch":
        import torch

        with torch.no_grad():
            return numpy_of(function(**tensors(named(function, inputs))))
    return numpy_of(function(**named(function, inputs)))


def expected_of(meaning, w, inputs, rows=None):
    """The reference's answer to the inputs in double precision."""
    reference = meaning.reference(w, rows)
    if meaning.framework == "torch":
        found = torch_case.run(reference, inputs, wide=True)
        return found.astype(np.int32) if w.__dict__.get("stage") == "select" else found
    wide = {
        n: a if a.dtype.kind in "iub" else a.astype(np.float64) for n, a in named(reference, inputs).items()
    }
    return reference(**wide)


def verdict(family, semantics, w, inputs, result, rows=None):
    """The contract's judgement of a result on these inputs."""
    meaning = family.semantics[semantics]
    marks = meaning.ambiguous and run_marks(meaning.ambiguous(w, rows), inputs)
    return meaning.contract.judge(
        Evidence(w, inputs, result, expected_of(meaning, w, inputs, rows), rows, marks)
    )


def judged(family, variant, w, *, seed=0, backward=False, rows=None, **options):
    """Judge by the forward contract, or by that of the gradients for a seeded cotangent."""
    inputs, meaning = drawn(family, w, seed), family.semantics[variant.semantics]
    framework, function = getattr(variant, "framework", "torch"), variant(w, **options)
    if not backward:
        result = answer(framework, function, inputs, x64=is_double(w))
        return verdict(
            family, variant.semantics, w, inputs, result if rows is None else result[:, rows], rows
        )
    marks = meaning.ambiguous and run_marks(meaning.ambiguous(w, None), inputs)
    reference = meaning.reference(w, None)
    expected = torch_case.run(reference, inputs, wide=True)
    cotangent = np.random.default_rng(seed + 1).standard_normal(expected.shape)
    first = torch_case.tensor(next(iter(inputs.values())))
    cotangent = torch_case.array(torch_case.tensor(cotangent).to(first.dtype))
    if marks is not None:
        cotangent[marks] = 0
    wanted = torch_case.gradients(reference, inputs, cotangent, wide=True)[1]
    case = jax_case if framework == "jax" else torch_case
    found = case.gradients(function, inputs, cotangent)[1]
    return meaning.gradient.judge(Evidence(w, inputs, found, wanted))


def trial(family, w, build, mode="fwd", **options):
    """The trial of a builder, whose callables are of the framework that it names, else of torch."""
    framework = getattr(build, "framework", "torch")

    def run(function, inputs):
        return answer(framework, function, inputs, x64=is_double(w))

    def pull(function, inputs):
        shape = answer(framework, function, inputs).shape
        cotangent = np.random.default_rng(4).standard_normal(shape)
        return {"gradients": torch_case.gradients(function, inputs, cotangent)[1]}

    return trial_of(
        family, w, partial(build, **options), run, pull=pull if mode == "bwd" else None, options=options
    )


def said_by_checks(family, variant, w, *, mode="fwd", **options):
    """What every check that concerns a variant says, by name; one that the variant refuses says nothing."""
    made, said = trial(family, w, variant, mode, **options), {}
    for check in family.checks:
        if check.concerns(variant.semantics, mode, tuple(made.inputs), w, name=variant.name):
            with suppress(Unsupported):
                said[check.name] = check.judge(made)
    return said
