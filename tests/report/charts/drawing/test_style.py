"""Where lines of a chart's texts end."""

from harness.report.charts.drawing.style import wrap


def test_a_label_ends_its_line_between_two_options():
    label = "triton_nsa[atomic=false,fused=true] · average"
    assert wrap(label, 1.8, 8).splitlines() == ["triton_nsa[atomic=false,", "fused=true] · average"]


def test_a_label_without_room_for_its_options_begins_them_on_a_line_of_their_own():
    assert wrap("nsa_mslk_sparse_compressed[tile=64]", 2.0, 8).splitlines() == [
        "nsa_mslk_sparse_compressed",
        "[tile=64]",
    ]


def test_plain_words_wrap_at_their_spaces():
    assert wrap("a bound by arithmetic, and no time", 1.8, 8).splitlines() == [
        "a bound by arithmetic,",
        "and no time",
    ]
