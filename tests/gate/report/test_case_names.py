"""Case ids taken apart and put together by family."""

from harness.gate.report.case_names import by_family, distinction, heading, name_of


def test_an_id_taken_apart(case_id):
    name = name_of(case_id("topk/two_stage[buckets=4096,keep=2]", 16384))
    assert name.family == "topk"
    assert name.implementation == "two_stage[buckets=4096,keep=2]"
    assert name.seq == 16384
    assert dict(name.where)["topk"] == "2Ki"
    assert name.short == "topk/two_stage[buckets=4096,keep=2] at 16Ki"


def test_another_form_is_its_own_label():
    name = name_of("something else")
    assert (name.family, name.implementation, name.seq, name.where) == ("cases", "something else", None, ())
    assert heading([name]) == "cases"


def test_what_is_shared_stands_in_the_heading_and_what_varies_at_the_case(case_id):
    names = [name_of(case_id("topk/exact", 4096, 64)), name_of(case_id("topk/exact", 8192, 2048, "bwd"))]
    assert heading(names) == "topk: batch=1 dtype=f32 rows=128, on cpu"
    assert [distinction(name, names) for name in names] == ["topk=64 fwd", "topk=2Ki bwd"]


def test_lengths_of_an_implementation_stand_below_each_other(case_id):
    ids = [case_id(name, seq) for seq in (65536, 4096) for name in ("mask/b", "mask/a")]
    ordered = by_family([name_of(case) for case in ids])["mask"]
    assert [name.short for name in ordered] == [
        f"mask/{name} at {seq}" for name in "ba" for seq in ("4Ki", "64Ki")
    ]
