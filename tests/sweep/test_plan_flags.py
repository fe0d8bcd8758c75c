"""What the command line changes about a schedule."""

import pytest

from harness.core.errors import UsageError
from harness.sweep.overrides import Overrides
from harness.sweep.schedule import plan


def suites(config, catalog, *names, **overrides):
    return {suite.name: suite for suite in plan(config, catalog, names, Overrides(**overrides)).suites}


def refusal(config, catalog, *names, **overrides):
    with pytest.raises(UsageError) as caught:
        plan(config, catalog, names, Overrides(**overrides))
    return str(caught.value)


@pytest.mark.parametrize(
    ("names", "overrides", "found"),
    [
        (["topk_small", "mask", "topk_small"], {}, ["topk_small", "mask"]),
        ([], {"families": ("topk",)}, ["topk"]),
        ([], {"impls": ("scatter",)}, ["mask"]),
        (["mask"], {"plugins": ("scan/loop",)}, ["mask"]),
    ],
)
def test_the_suites_that_run(config, with_plugin, names, overrides, found):
    assert list(suites(config, with_plugin, *names, **overrides)) == found


# --family


def test_family_without_a_default_suite_takes_all_its_suites(bench, catalog):
    config = bench(
        "default: m\nsuites:\n  m: {family: mask, seq: 1, rows: 1}\n"
        "  t1: {family: topk, seq: 1, k: 1}\n  t2: {family: topk, seq: 2, k: 1}\n"
    )
    assert list(suites(config, catalog, families=("topk",))) == ["t1", "t2"]
    assert list(suites(config, catalog, families=("topk", "mask"))) == ["m", "t1", "t2"]


def test_family_without_any_suite_is_made_from_flags(bench, catalog):
    config = bench("suites:\n  m: {family: mask, seq: 1, rows: 1}\n")
    found = suites(config, catalog, families=("topk",), seqs=("1Ki",), fields={"k": ("8", "16")})
    assert list(found) == ["topk"]
    assert found["topk"].baseline == "topk/exact"
    assert found["topk"].axes["k"] == [8, 16]
    assert refusal(config, catalog, families=("topk",)) == (
        "--family: topk needs seq and k; add --seq N --set k=VALUE, or write them in bench.yaml"
    )


def test_a_made_suite_does_not_take_the_name_of_another(bench, catalog):
    config = bench("suites:\n  topk: {family: mask, seq: 1, rows: 1}\n")
    fields = {"k": ("8",), "rows": ("1",)}
    found = suites(config, catalog, families=("mask", "topk"), seqs=("8",), fields=fields)
    assert {name: suite.family for name, suite in found.items()} == {"topk": "mask", "topk_family": "topk"}


# --impl


TWO_STAGE = [f"topk/two_stage[buckets={n},keep=2]" for n in (64, 128)]


@pytest.mark.parametrize(
    ("suite", "overrides", "implementations"),
    [
        ("mask", {"impls": ("scatter",)}, ["mask/scatter"]),
        ("mask", {"impls": ("rowwise", "mask/broadcast")}, ["mask/broadcast", "mask/rowwise"]),
        ("topk", {"impls": ("two_stage",)}, TWO_STAGE),  # a bare name keeps the listed variants
        ("topk_small", {"impls": ("two_stage",)}, ["topk/two_stage[buckets=4096,keep=2]"]),
        ("topk", {"impls": ("two_stage[keep=3,buckets=1Ki]",)}, ["topk/two_stage[buckets=1024,keep=3]"]),
        ("mask", {"impls": ("scatter",), "plugins": ("mask/mine",)}, ["mask/scatter"]),
        ("mask", {"impls": ("scatter",), "baseline": "broadcast"}, ["mask/scatter", "mask/broadcast"]),
    ],
)
def test_impl_restricts_exactly(config, with_plugin, suite, overrides, implementations):
    found = suites(config, with_plugin, suite, **overrides)[suite]
    assert list(found.implementations) == implementations
    assert found.baseline == ("mask/broadcast" if suite == "mask" else "topk/exact")


def test_without_its_baseline_a_group_has_none(config, catalog):
    (first, *_) = plan(config, catalog, ["mask"], Overrides(impls=("scatter",))).groups
    assert first.baselines == {first.cases[0].id: ()}


def test_an_impl_outside_the_default_suites_brings_its_own(bench, catalog):
    config = bench(
        "default: m\nsuites: {m: {family: mask, seq: 1, rows: 1}, t: {family: topk, seq: 1, k: 1}}\n"
    )
    assert list(suites(config, catalog, impls=("sort",))) == ["t"]


# --baseline


def test_baseline_is_measured_even_if_not_listed(config, catalog):
    found = suites(config, catalog, baseline="mask/rowwise")
    assert found["mask"].baseline == "mask/rowwise"
    assert found["mask"].implementations == ("mask/broadcast", "mask/scatter", "mask/rowwise")
    assert found["topk"].baseline == "topk/exact"


# --plugin


def test_plugin_implementations_join_every_suite_of_their_family(config, with_plugin):
    found = suites(config, with_plugin, plugins=("mask/mine",))
    assert found["mask"].implementations == ("mask/broadcast", "mask/scatter", "mask/mine")
    assert found["mask"].baseline == "mask/broadcast"
    assert "mask/mine" not in found["topk"].implementations


def test_a_plugin_family_gets_a_suite_of_its_own(config, with_plugin):
    found = suites(config, with_plugin, plugins=("scan/loop", "scan/tree"), seqs=("1Ki",))
    assert list(found) == ["mask", "topk", "scan"]
    assert found["scan"].implementations == ("scan/loop", "scan/tree")
    assert found["scan"].baseline == "scan/loop"
    more = {"families": ("scan",), "plugins": ("scan/loop",), "seqs": ("8",)}
    assert suites(config, with_plugin, baseline="tree", **more)["scan"].baseline == "scan/tree"


def test_a_plugin_family_with_required_fields_asks_for_them(config, with_plugin):
    assert refusal(config, with_plugin, plugins=("sort/bitonic",), seqs=("8",)) == (
        "--plugin: sort needs depth; add --set depth=VALUE, or write them in bench.yaml"
    )
    found = suites(config, with_plugin, plugins=("sort/bitonic",), seqs=("8",), fields={"depth": ("2",)})
    assert found["sort"].axes["depth"] == [2]


# --seq, --set, --mode, --device


def test_seq_and_set_replace_axes(config, catalog):
    found = suites(config, catalog, seqs=("8Ki", "2048", "8192"), fields={"rows": ("1", "2")})
    assert found["mask"].axes["seq"] == found["topk"].axes["seq"] == [2048, 8192]
    assert found["mask"].axes["rows"] == [1, 2]
    assert "rows" not in found["topk"].axes


def test_flags_speak_of_none_as_bench_yaml_does(config, catalog):
    found = suites(config, catalog, "topk_small", fields={"window": ("none", "64"), "sorted": ("false",)})
    assert found["topk_small"].axes["window"] == [None, 64]
    assert found["topk_small"].axes["sorted"] == [False]


def test_mode_and_device_replace(config, catalog):
    found = suites(config, catalog, "topk_small", modes=("bwd", "fwd", "bwd"), devices=("cuda",))
    assert found["topk_small"].modes == ("fwd", "bwd")
    assert found["topk_small"].devices == ("cuda",)


def test_a_mode_the_family_lacks_leaves_skips_and_no_groups(config, catalog):
    schedule = plan(config, catalog, ["mask"], Overrides(modes=("bwd",)))
    assert schedule.groups == ()
    assert len(schedule.skips) == len(schedule.suites[0].cases) == 6


# --quick, settings, --replicates


def test_quick_takes_the_two_smallest_lengths_and_a_tenth_of_the_budget(config, catalog):
    found = suites(config, catalog, quick=True)
    assert found["mask"].axes["seq"] == [1024, 4096]
    assert found["mask"].settings.budget_s == pytest.approx(0.2)
    assert found["topk"].settings.budget_s == pytest.approx(0.8)


# ranges


def test_a_range_doubles_from_its_beginning_to_its_end(config, catalog):
    found = suites(config, catalog, "mask", seqs=("4Ki..32Ki", "128Ki"))
    assert found["mask"].axes["seq"] == [4096, 8192, 16384, 32768, 131072]


def test_a_range_in_bench_yaml(bench, catalog):
    config = bench("suites:\n  m: {family: mask, seq: 1Ki..4Ki, rows: 1..2}\n")
    axes = suites(config, catalog)["m"].axes
    assert (axes["seq"], axes["rows"]) == ([1024, 2048, 4096], [1, 2])
