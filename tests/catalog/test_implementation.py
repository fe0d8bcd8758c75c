from dataclasses import dataclass
from typing import Literal

import pytest

from harness import Family, Unsupported, axis, implementation
from harness.catalog.loading import family_of
from harness.core.errors import UsageError


@dataclass(frozen=True)
class Workload:
    seq: int = axis()


FAMILY = Family("made_up", "?", Workload, lambda w: {}, lambda w, rng: {}, {})


def test_a_builder_is_registered_under_its_name_and_family():
    @implementation(framework="numpy", semantics="exact")
    def scatter(w: Workload):
        return lambda scores: scores + w.seq

    assert (scatter.name, scatter.framework, scatter.semantics) == ("scatter", "numpy", "exact")
    assert scatter.workload_type() is Workload
    assert family_of(scatter) is FAMILY
    assert scatter(Workload(seq=3))(4) == 7


def test_keyword_only_parameters_are_options():
    @implementation(framework="jax", semantics="exact", name="other-name")
    def two_stage(
        w: Workload,
        *,
        buckets: int,
        keep: int = 2,
        share: float = 0.5,
        wide=True,
        order: Literal["up", "down"] = "up",
        limit: int | None = None,
    ):
        return lambda: (buckets, keep, share, wide, order, limit)

    options = {option.name: option for option in two_stage.options}
    assert two_stage.name == "other-name"
    assert [(o.name, o.kind, o.required, o.default, o.optional) for o in options.values()] == [
        ("buckets", "int", True, None, False),
        ("keep", "int", False, 2, False),
        ("share", "float", False, 0.5, False),
        ("wide", "bool", False, True, False),
        ("order", "str", False, "up", False),
        ("limit", "int", False, None, True),
    ]
    assert options["order"].choices == ("up", "down")
    assert options["buckets"].parse("4Ki") == 4096
    assert two_stage(Workload(seq=1), buckets=7)() == (7, 2, 0.5, True, "up", None)


def plain(w: Workload):
    return None


def positional(w: Workload, buckets=3):
    return None


def unswept(w: Workload, *, sizes=(1, 2)):
    return None


@pytest.mark.parametrize(
    ("build", "arguments", "says"),
    [
        (plain, {"name": "a/b"}, '"a/b" is not a valid name for an implementation'),
        (plain, {"expect": {"wrong": "x"}}, "write expect="),
        (plain, {"expect": {"when": bool}}, "write expect="),
        (positional, {}, r'"buckets" is not keyword-only, .* put a \* before it'),
        (unswept, {}, "cannot be swept"),
    ],
)
def test_what_the_decorator_refuses(build, arguments, says):
    with pytest.raises(UsageError, match=says):
        implementation(**{"framework": "jax", "semantics": "exact", **arguments})(build)


def test_a_builder_names_its_family_by_its_first_annotation():
    @implementation(framework="jax", semantics="exact")
    def build(w):
        return None

    with pytest.raises(UsageError, match="annotate the builder's first parameter"):
        build.workload_type()


def test_a_claim_may_be_expected_to_fail_on_some_workloads():
    def declared(expect):
        @implementation(framework="jax", semantics="exact", expect=expect)
        def build(w: Workload):
            raise Unsupported("never built")

        return build.expect

    everywhere = declared({"incorrect": "the claim taken literally"})
    somewhere = declared({"incorrect": "ties", "when": lambda w: w.seq > 8})
    assert everywhere.reason == "the claim taken literally"
    assert everywhere.when(Workload(seq=1))
    assert [somewhere.when(Workload(seq=seq)) for seq in (8, 9)] == [False, True]
    assert declared(None) is None
