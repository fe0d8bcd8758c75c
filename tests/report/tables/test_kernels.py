"""What is said of kernels: the sentence before the table, the rows, and the page of one case."""

from dataclasses import replace

import pytest

from harness.analysis.suite_results import SuiteResults
from harness.report.tables.kernels import kernel_lines, kernel_page, kernels_table
from tests.records import kernel_of, record_of, static_of

SPILLING = kernel_of(
    kernel="backward",
    registers=255,
    spilled_bytes=1080,
    blocks_per_sm=1,
    spilled_at={"b.py:7": 3, "b.py:9": 40},
)
WITHOUT_DEVICE = kernel_of(waves=None, tail=None, unavailable=dict.fromkeys(("waves", "tail"), "no device"))
REFUSED = kernel_of(
    kernel="vast",
    registers=24,
    blocks_per_sm=0,
    waves=None,
    tail=None,
    refused="a block needs 300000 B",
    unavailable=dict.fromkeys(("waves", "tail"), "a block needs 300000 B"),
)


def record(*kernels):
    return record_of("flash", 4096, static={"cuda:h100": replace(static_of(temp_bytes=1), kernels=kernels)})


def panel(*kernels):
    return SuiteResults("mask", "mask", "", ("mask/flash",), (record(*kernels),))


def test_what_spills_most_is_said_first_with_its_line():
    (line,) = kernel_lines(panel(kernel_of(), SPILLING), "cuda:h100")
    assert line == (
        "cuda:h100: backward of flash at 4Ki takes 255 registers a thread, spills 1.05 KiB a thread, "
        "1 block an SM: registers, most at b.py:9."
    )


def test_where_none_spills_the_most_registers_are_said_and_what_cannot_be_launched():
    first, second = kernel_lines(panel(kernel_of(), REFUSED), "cuda:h100")
    assert first.startswith("cuda:h100: no kernel spills; attn of flash at 4Ki takes 168 registers")
    assert second == "cuda:h100: vast cannot be launched: a block needs 300000 B."
    assert kernel_lines(panel(), "cuda:h100") == []


HMMA = kernel_of(kernel="attend", instructions={"mma": 96}, grid=(64, 1), waves=0.07)


def test_warnings_are_said_of_the_longest_length_alone():
    lines = kernel_lines(of_lengths(HMMA, HMMA, HMMA), "cuda:h100")
    slow = "uses no warp-group matrix instructions (HGMMA): at most about two thirds of the GPU's peak"
    idle = "gives a block to 64 of 132 multiprocessors (48 %, 0.07 waves): bound by the latency of one block"
    assert lines[1:] == [f"cuda:h100: attend of flash at 16Ki {said}." for said in (slow, idle)]
    assert len(kernel_lines(of_lengths(HMMA, HMMA, kernel_of(kernel="attend")), "cuda:h100")) == 1
    assert f"  attend {slow}" in kernel_page(record(HMMA), "cuda:h100")


@pytest.mark.parametrize(
    ("instructions", "products", "text"),
    [
        ({"wgmma": 24}, 2, "24 wgmma"),
        ({"global": 3, "mma": 96, "wgmma": 8}, 2, "8 wgmma, 96 mma"),
        ({"float": 9}, 2, "general"),
        ({"float": 9}, 0, "0"),
        ({"float": 9}, None, "0"),
        ({"matrix": 120}, None, "120"),  # of an earlier version
    ],
)
def test_matrix_instructions_are_shown_by_path(instructions, products, text):
    table = kernels_table(panel(kernel_of(instructions=instructions, products=products)), "cuda:h100")
    assert table.rows[0][[column.title for column in table.columns].index("matrix")].text == text


def test_waves_that_are_not_known_say_why():
    table = kernels_table(panel(kernel_of(), WITHOUT_DEVICE), "cuda:h100")
    columns = [column.title for column in table.columns]
    waves, idle = columns.index("waves"), columns.index("idle")
    assert [(row[waves].text, row[idle].text, row[waves].notes) for row in table.rows] == [
        ("1.29", "71 %", ()),
        ("–", "–", ("no device",)),
    ]
    assert "  no waves: no device" in kernel_page(record(WITHOUT_DEVICE), "cuda:h100")


def test_a_page_has_the_spills_by_line():
    page = kernel_page(record(SPILLING), "cuda:h100")
    assert page[0].startswith("backward (flash.py:12), 1× in a call of mask/flash@")
    assert page.index("  40 spill instructions at b.py:9") < page.index("  3 spill instructions at b.py:7")
    (absent,) = kernel_page(record(), "cuda:h100")
    assert absent.endswith("launches no kernel whose machine code is read for cuda:h100")


def of_lengths(*kernels, target="cuda:h100"):
    cases = [
        record_of("flash", seq, static={target: replace(static_of(temp_bytes=1), kernels=(kernel,))})
        for seq, kernel in zip((4096, 8192, 16384), kernels, strict=True)
    ]
    return SuiteResults("mask", "mask", "", ("mask/flash",), tuple(cases))


def test_lengths_with_the_same_code_share_a_row_and_others_do_not():
    grown = [kernel_of(grid=(waves, 1, 1), waves=float(waves)) for waves in (1, 2, 4)]
    table = kernels_table(of_lengths(*grown), "cuda:h100", "cuda:h200")
    waves = [column.title for column in table.columns].index("waves")
    assert [(row[0].text, row[1].text, row[waves].text) for row in table.rows] == [
        ("4Ki–16Ki", "flash", "1–4")
    ]
    assert table.title.endswith("kernels on cuda:h100, cuda:h200")
    apart = kernels_table(of_lengths(*grown[:2], replace(grown[2], registers=9)), "cuda:h100")
    assert [(row[0].text, row[waves].text) for row in apart.rows] == [("4Ki–8Ki", "1–2"), ("16Ki", "4")]
