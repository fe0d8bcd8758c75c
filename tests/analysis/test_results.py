from harness.analysis.results import by_suite, representative, static_of, targets


def test_a_case_shared_by_two_suites_is_in_both(record):
    base, scatter = record("base", 4096, [1.0]), record("scatter", 4096, [1.0])
    described = {"family": "mask", "baseline": "mask/base", "implementations": ["mask/base", "mask/scatter"]}
    cases = {"a": [base.case, scatter.case], "b": [base.case]}
    info = {"suites": {name: {**described, "cases": own} for name, own in cases.items()}}
    first, second = by_suite(info, [scatter, base])
    assert first.records == (base, scatter)
    assert second.records == (base,)
    assert (first.baseline, first.implementations) == ("mask/base", ("mask/base", "mask/scatter"))


def test_planned_cases_without_records_and_gate_sides_are_left_out(record):
    base = record("base", 4096, [1.0])
    side = record("base", 8192, [1.0], side="candidate")
    info = {"suites": {"a": {"family": "mask", "baseline": None, "cases": ["unrun", base.case, side.case]}}}
    (only,) = by_suite(info, [base, side])
    assert only.records == (base,)
    assert only.baseline == ""


def test_the_cases_of_an_implementation_are_shortest_first(record, suite):
    long, short = record("base", 8192), record("base", 4096)
    other = record("base", 4096, options={"k": 2})
    assert suite([long, other, short]).by_panel == {
        "batch=1,dtype=f32:fwd:cpu": {"mask/base": [(short,), (long,)], "mask/base[k=2]": [(other,)]}
    }


def test_a_case_is_represented_by_its_first_timed_replicate(record):
    failed = record("base", 4096, status="oom")
    timed = record("base", 4096, [1.0], replicate=1)
    assert representative([failed, timed]) is timed
    assert representative([failed]) is failed


def test_the_device_a_case_runs_on_is_its_host(record, static, suite):
    own = record("base", 1, device="cuda", static={"cuda": static(temp_bytes=7)})
    assert targets(suite([own])) == ["host"]
    assert static_of([own]).temp_bytes == 7
    assert static_of([own], "tpu:v5p") is None
