"""What bench.yaml alone makes of a catalog: suites, cases, order, and errors with their lines."""

import dataclasses

import pytest

from harness.catalog.catalog import Catalog, FamilyInfo
from harness.core.errors import UsageError
from harness.core.workload import Field
from harness.sweep import axes
from harness.sweep.overrides import Overrides
from harness.sweep.schedule import plan, suite_info
from harness.sweep.written import Scalar

NONE = Overrides()
TOPK = "k={},recall=0.95,seq={},sorted=true,window=none:fwd:cpu"


def test_the_default_suites_in_order(config, catalog):
    schedule = plan(config, catalog, [], NONE)
    assert [suite.name for suite in schedule.suites] == ["mask", "topk"]
    assert [len(suite.cases) for suite in schedule.suites] == [3 * 2, 2 * 2 * 3]
    assert set(schedule.implementations) == {"mask/broadcast", "mask/scatter", "topk/exact", "topk/two_stage"}
    assert schedule.skips == ()
    assert schedule.replicates == 1


def test_case_ids_are_complete_but_for_later_fields(config, catalog):
    mask, topk = plan(config, catalog, [], NONE).suites
    assert mask.cases[0].id == "mask/broadcast@batch=1,dtype=f32,rows=64,seq=1024,topk=2048:fwd:cpu"
    assert topk.cases[1].id == "topk/two_stage[buckets=64,keep=2]@" + TOPK.format(8, 4096)


def test_a_later_field_shows_where_it_differs(bench, catalog):
    config = bench("suites:\n  m: {family: mask, seq: 1Ki, rows: 1, tile: [128, 256], impls: broadcast}\n")
    points = [case.point for case in plan(config, catalog, [], NONE).suites[0].cases]
    head = "batch=1,dtype=f32,rows=1,seq=1024,"
    assert points == [f"{head}topk=2048", f"{head}tile=256,topk=2048"]


def test_suites_carry_labels_axes_and_settings(config, catalog):
    mask, topk = plan(config, catalog, [], NONE).suites
    assert mask.baseline == "mask/broadcast"
    two_stage = (f"topk/two_stage[buckets={buckets},keep=2]" for buckets in (64, 128))
    assert topk.implementations == ("topk/exact", *two_stage)
    assert list(topk.axes) == ["seq", "k", "recall", "sorted", "window"]
    assert list(topk.axes.values()) == [[4096, 8192], [8, 64], [0.95], [True], [None]]
    assert (mask.settings.budget_s, topk.settings.budget_s) == (2.0, 8.0)


def test_groups_ascend_in_length_within_a_series(config, catalog):
    schedule = plan(config, catalog, [], NONE)
    assert [group.key for group in schedule.groups] == [
        *(f"mask@batch=1,dtype=f32,rows=64,seq={seq},topk=2048:fwd:cpu" for seq in (1024, 4096, 16384)),
        *("topk@" + TOPK.format(k, seq) for k in (8, 64) for seq in (4096, 8192)),
    ]


def test_modes_run_forward_first(bench, catalog):
    config = bench("suites: {t: {family: topk, seq: [16, 8], k: 8, impls: exact, mode: [fwd_bwd, bwd, fwd]}}")
    cases = plan(config, catalog, [], NONE).suites[0].cases
    assert [(case.mode, case.seq) for case in cases] == [
        (mode, seq) for mode in ("fwd", "bwd", "fwd_bwd") for seq in (8, 16)
    ]


def test_a_group_knows_the_baseline_of_each_case(config, catalog):
    group = plan(config, catalog, ["mask"], NONE).groups[0]
    baseline, other = (case.id for case in group.cases)
    assert group.baselines == {baseline: (baseline,), other: (baseline,)}


def test_without_impls_all_of_the_family_with_the_first_as_baseline(config, catalog):
    (suite,) = plan(config, catalog, ["topk_small"], NONE).suites
    assert suite.implementations == ("topk/exact", "topk/sort", "topk/two_stage[buckets=4096,keep=2]")
    assert suite.baseline == "topk/exact"


def test_a_baseline_that_is_not_listed_is_measured_too(bench, catalog):
    config = bench("suites:\n  m: {family: mask, seq: 1Ki, rows: 1, baseline: broadcast, impls: [scatter]}\n")
    (suite,) = plan(config, catalog, [], NONE).suites
    assert suite.implementations == ("mask/broadcast", "mask/scatter")


@pytest.mark.parametrize(
    ("baseline", "impls", "label"),
    [
        ("two_stage", "[exact, 'two_stage[buckets=64]']", "topk/two_stage[buckets=64,keep=2]"),
        ("two_stage", "[two_stage, 'two_stage[keep=3]']", "topk/two_stage[buckets=4096,keep=2]"),
        ("two_stage", "[exact]", "topk/two_stage[buckets=4096,keep=2]"),
        ("'topk/two_stage[keep=3]'", "[exact]", "topk/two_stage[buckets=4096,keep=3]"),
        ("{two_stage: {keep: 4}}", "[exact]", "topk/two_stage[buckets=4096,keep=4]"),
    ],
)
def test_which_variant_a_baseline_means(bench, catalog, baseline, impls, label):
    config = bench(f"suites:\n  t: {{family: topk, seq: 8, k: 8, baseline: {baseline}, impls: {impls}}}\n")
    (suite,) = plan(config, catalog, [], NONE).suites
    assert suite.baseline == label
    assert label in suite.implementations


def test_swept_options_are_combined(bench, catalog):
    config = bench(
        "suites:\n  t: {family: topk, seq: 8, k: 8, impls: {two_stage: {buckets: [8, 1Ki], keep: [1, 2]}}}\n"
    )
    (suite,) = plan(config, catalog, [], NONE).suites
    assert suite.implementations == tuple(
        f"topk/two_stage[buckets={buckets},keep={keep}]" for buckets in (8, 1024) for keep in (1, 2)
    )


def test_yaml_words_become_field_values(bench, catalog):
    config = bench(
        "suites:\n  t: {family: topk, seq: 131_072, k: 8, sorted: [on, false], window: [null, 4Ki], "
        "recall: .9, impls: exact}\n"
    )
    (suite,) = plan(config, catalog, [], NONE).suites
    assert list(suite.axes.values()) == [[131072], [8], [0.9], [True, False], [None, 4096]]


def test_cases_that_cannot_run_are_skips_and_stay_in_their_suite(bench, catalog):
    config = bench(
        "suites:\n  m: {family: mask, seq: 1Ki, rows: 1, mode: [fwd, bwd], device: [cpu, cuda],"
        " impls: [scatter, rowwise]}\n"
    )
    schedule = plan(config, catalog, [], NONE)
    assert len(schedule.suites[0].cases) == 8
    reasons = {
        f"{skip.case.label}:{skip.case.mode}:{skip.case.device}": skip.reason for skip in schedule.skips
    }
    on_cuda = {"mask/rowwise:fwd:cuda", "mask/scatter:bwd:cuda", "mask/rowwise:bwd:cuda"}
    assert set(reasons) == {"mask/scatter:bwd:cpu", "mask/rowwise:bwd:cpu"} | on_cuda
    assert reasons["mask/scatter:bwd:cpu"] == "family mask has no bwd; use --mode with one of: fwd"
    assert reasons["mask/rowwise:fwd:cuda"] == "numpy does not run on cuda; use --device with one of: cpu"
    (both, one) = ([case.label for case in group.cases] for group in schedule.groups)
    assert (both, one) == (["mask/scatter", "mask/rowwise"], ["mask/scatter"])


def test_an_option_without_default_must_be_given(bench, catalog):
    needy = implementation_with_required_option(catalog)
    text = "suites:\n  m:\n    family: mask\n    seq: 1Ki\n    rows: 1\n    impls:\n      - {}\n"
    with pytest.raises(UsageError, match=r'^bench.yaml:7: mask/tiled needs .*write "tiled\[size=…\]"'):
        plan(bench(text.format("tiled")), needy, [], NONE)
    (suite,) = plan(bench(text.format("tiled[size=0]")), needy, [], NONE).suites
    assert suite.implementations == ("mask/tiled[size=0]",)


def implementation_with_required_option(catalog):
    size = Field("size", "int", required=True, minimum=0)
    tiled = dataclasses.replace(catalog.implementations["mask/scatter"], id="mask/tiled", options=(size,))
    return Catalog(catalog.families, {**catalog.implementations, "mask/tiled": tiled})


@pytest.mark.parametrize(
    ("fields", "says"),
    [((), "has no field seq"), ((Field("seq", "int", required=True),), "has no implementations")],
)
def test_families_with_nothing_to_run(bench, catalog, fields, says):
    odd = FamilyInfo("odd", "?", fields, ("exact",), ("fwd",), "odd.py")
    config = bench("suites:\n  o: {family: odd}\n")
    with pytest.raises(UsageError, match=f"^bench.yaml:2: family odd {says}"):
        plan(config, Catalog({**catalog.families, "odd": odd}, catalog.implementations), [], NONE)


SHARED = """\
suites:
  one: {family: mask, seq: [2Ki, 8Ki], rows: 1, impls: [broadcast, scatter], budget: 1s, timeout: 9s}
  two: {family: mask, seq: [1Ki, 8Ki], rows: 1, impls: [scatter, rowwise], budget: 3s, timeout: 5s}
"""


def test_a_case_of_two_suites_is_measured_once(bench, catalog):
    schedule = plan(bench(SHARED), catalog, [], NONE)
    assert [[(c.label, c.seq) for c in group.cases] for group in schedule.groups] == [
        [("mask/scatter", 1024), ("mask/rowwise", 1024)],
        [("mask/broadcast", 2048), ("mask/scatter", 2048)],
        [("mask/broadcast", 8192), ("mask/scatter", 8192), ("mask/rowwise", 8192)],
    ]
    shared = schedule.groups[2]
    assert (shared.settings.budget_s, shared.settings.timeout_s) == (3.0, 9.0)
    broadcast, scatter, rowwise = (case.id for case in shared.cases)
    assert shared.baselines == {broadcast: (broadcast,), scatter: (broadcast, scatter), rowwise: (scatter,)}


def test_run_json_lists_suites_as_plain_data(config, catalog):
    info = suite_info(plan(config, catalog, ["topk_small"], NONE))
    assert list(info) == ["topk_small"]
    assert info["topk_small"]["baseline"] == "topk/exact"
    assert info["topk_small"]["modes"] == ["fwd"]
    assert info["topk_small"]["axes"]["seq"] == [512]
    assert info["topk_small"]["cases"][0] == "topk/exact@" + TOPK.format(8, 512)


def test_options_that_make_more_variants_than_can_be_meant_are_refused(bench, catalog):
    values = list(range(1, 401))
    text = (
        "suites:\n  t:\n    family: topk\n    seq: 1Ki\n    k: 8\n"
        f"    impls:\n      - two_stage: {{buckets: {values}, keep: {values}}}\n"
    )
    with pytest.raises(UsageError, match=r"^bench.yaml:7: the options of two_stage make 160000 cases"):
        plan(bench(text), catalog, [], NONE)


def test_no_variant_is_compared_with_another_while_they_are_listed(bench, catalog, monkeypatch):
    monkeypatch.setattr(axes.Variant, "__eq__", lambda *_: pytest.fail("its label is looked up"))
    config = bench("suites: {t: {family: topk, impls: [{two_stage: {buckets: [1, 2, 3], keep: [4, 5]}}]}}")
    assert len(axes.listed_variants(catalog, "topk", config.suites["t"].impls)) == 6


def test_no_value_of_an_axis_is_compared_with_all_before_it(monkeypatch):
    compared = []

    class Length(int):
        def __hash__(self):
            return int(self)

        def __eq__(self, other):
            compared.append(other)
            return int(self) == int(other)

    monkeypatch.setattr(axes, "expand", lambda _, raw: [Length(raw.text)])
    field = Field("seq", "int", required=True)
    values = [Scalar.given("bench.yaml:1", str(value)) for value in range(1, 200)]
    assert len(axes.axis(field, values)) == 199
    assert len(compared) <= 199
