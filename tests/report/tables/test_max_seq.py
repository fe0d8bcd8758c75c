"""How far a model's context goes on a device: the best of each family, and the family that ends it."""

from dataclasses import replace

import pytest

from harness.analysis.results import StepModel
from harness.report.tables.max_seq import longest_context_lines, longest_context_table, longest_lines
from tests.records import static_of
from tests.report.charts.suites import record, suite

K = 1024
AT_LEAST = "a context of at least 64Ki tokens fits, one call at a time"
SOURCE = {"repo": "org/configs", "path": "m_config.json", "commit": "0123456789", "sha256": "0"}


def planned(family, **found):
    """A suite of a family, and per implementation the longest that fits and the shortest that does not."""
    records = [
        replace(
            record(name, K),
            family=family,
            case=f"{family}/{name}@seq={K}:fwd:cpu",
            implementation=f"{family}/{name}",
        )
        for name in found
    ]
    results = replace(suite(*records), name=family, family=family)
    model = StepModel("m (tp 8)", 61, 4, frozenset(r.case for r in records), SOURCE, longest=256 * K)
    panel = next(iter(results.by_case.values())).panel
    largest = [
        {
            "suite": family,
            "implementation": f"{family}/{name}",
            "panel": panel,
            "target": "tpu:v5p",
            "seq": fits,
            "beyond": beyond,
            "reason": None if beyond else "no compiler" if fits is None else "that still fits",
        }
        for name, (fits, beyond) in found.items()
    ]
    return replace(results, models=(model,)), largest


def joined(*families):
    return [suite for suite, _ in families], [entry for _, entries in families for entry in entries]


def test_the_family_whose_best_is_the_shortest_ends_it():
    mask = planned("mask", broadcast=(4 * K, 5 * K), scatter=(32 * K, 36 * K))
    topk = planned("topk", exact=(64 * K, None))
    (line,) = longest_context_lines(*joined(mask, topk))
    assert line.startswith("m (tp 8) on tpu:v5p: a context of 128Ki tokens fits, one call at a time; ")
    assert line.endswith("; more does not fit scatter, which goes furthest of mask")
    rows = longest_context_table(*joined(mask, topk)).rows
    assert [[cell.text for cell in row] for row in rows] == [
        ["m (tp 8)", "mask/broadcast", "16Ki"],
        ["m (tp 8)", "mask/scatter", "128Ki"],
        ["m (tp 8)", "topk/exact", "all 256Ki"],
    ]
    assert not any(cell.notes for row in rows for cell in row), "all that there is needs no reason"


def test_forward_and_backward_have_rows_of_their_own_and_none_fits_is_no_unknown():
    suites, largest = joined(planned("topk", exact=(16 * K, 17 * K)))
    (results,), (entry,) = suites, largest
    ((case, records),) = results.by_case.items()
    backward = replace(records[0], case=case.replace(":fwd:", ":fwd_bwd:"), mode="fwd_bwd")
    both = suite(*records, backward)
    model = replace(results.models[0], cases=frozenset(both.by_case))
    both = replace(both, name="topk", family="topk", models=(model,))
    panels = [own.panel for own in both.by_case.values()]
    entries = [{**entry, "panel": panels[0]}, {**entry, "panel": panels[1], "seq": None, "beyond": K}]
    rows = longest_context_table([both], entries).rows
    assert [[row[2].text, row[3].text] for row in rows] == [[panels[0], "64Ki"], [panels[1], "< 4Ki"]]


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ((64 * K, None), "every context that it has positions for fits, up to 256Ki"),
        ((16 * K, None), f"{AT_LEAST}; no more was compiled of exact, which goes furthest of topk"),
        ((None, None), "no context is known to fit: no compiler"),
    ],
)
def test_all_of_it_so_far_as_was_looked_or_nothing(found, said):
    assert longest_context_lines(*joined(planned("topk", exact=found))) == [f"m (tp 8) on tpu:v5p: {said}"]


def test_a_family_without_a_plan_is_told():
    (line,) = longest_context_lines(
        *joined(planned("topk", exact=(64 * K, None)), planned("mla", naive=(None, None)))
    )
    assert line.endswith("up to 256Ki; of mla none is known")


def test_a_suite_without_a_model_has_no_such_table():
    results, largest = planned("topk", exact=(64 * K, None))
    assert longest_context_table([replace(results, models=())], largest).rows == ()


def test_what_goes_furthest_is_said_first():
    results, largest = planned("mask", dense=(2 * K, 3 * K), flex=(8 * K, None), plain=(2 * K, 3 * K))
    compiled = [replace(r, static={"tpu:v5p": static_of(temp_bytes=1)}) for r in results.records]
    assert longest_lines(replace(results, records=tuple(compiled)), largest) == [
        "tpu:v5p: the longest length whose plan fits: flex: ≥ 8Ki; dense, plain: 2Ki, not 3Ki."
    ]
