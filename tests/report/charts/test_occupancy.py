"""The chart of occupancy: what shares a bar, what stands behind it, and that it can be read."""

from dataclasses import replace

from harness.report.charts.drawing.style import style
from harness.report.charts.grid import CaseGrid
from harness.report.charts.occupancy import MOST, occupancy
from harness.report.charts.suite import suite_figures
from tests.records import kernel_of, tpu_kernel_of
from tests.report.charts.legibility import assert_legible
from tests.report.charts.suites import INFO, record, static, suite, words_of

K = 1024
COMPILED = {**INFO, "depth": "static"}
SMALL = kernel_of(registers=128, occupancy=0.25, blocks_per_sm=4)
SPILLING = kernel_of(
    kernel="backward", configuration="BM=128 BN=64 warps=4 stages=3", spilled_bytes=1080, registers=255,
    occupancy=0.0625, blocks_per_sm=1,
)  # fmt: skip
SHARED = kernel_of(kernel="join", shared_bytes=65536, limiter="shared memory", occupancy=0.5)


def kernels(by_target):
    return {target: replace(static(2**20), kernels=known) for target, known in by_target.items()}


def bars_of(*records):
    chart = occupancy(CaseGrid.of(suite(*records)))
    return [(bar.name, bar.share, bar.words) for panel in chart.panels for bar in panel.bars]


def test_lengths_and_targets_of_one_occupancy_share_a_bar():
    h100, a100 = kernel_of(), SMALL
    by_target = {"cuda:a100": (a100,), "cuda:h100": (h100,), "cuda:h200": (h100,)}
    both = [record("flash", seq, static=kernels(by_target)) for seq in (K, 4 * K)]
    assert bars_of(*both) == [
        ("attn · on cuda:a100", 0.25, "25 %, registers (128 a thread)"),
        ("attn · on cuda:h100, h200", 0.1875, "19 %, registers (168 a thread)"),
    ]


def test_a_length_that_differs_has_a_bar_of_its_own():
    one = record("flash", K, static=kernels({"cuda:h100": (kernel_of(),)}))
    other = record("flash", 4 * K, static=kernels({"cuda:h100": (SMALL,)}))
    assert [name for name, _, _ in bars_of(one, other)] == [
        "attn · 1Ki · on cuda:h100",
        "attn · 4Ki · on cuda:h100",
    ]


def test_what_spills_or_cannot_be_launched_says_so():
    refused = kernel_of(kernel="vast", occupancy=0.0, limiter="shared memory", refused="too much")
    known = kernels({"cuda:h100": (SPILLING, refused, SHARED)})
    assert [words for _, _, words in bars_of(record("flash", K, static=known))] == [
        "6 %, registers (255 a thread), spills 1.05 KiB",
        "cannot be launched: shared memory",
        "50 %, shared memory (64 KiB a block)",
    ]


def test_a_suite_without_kernels_has_no_such_chart():
    assert occupancy(CaseGrid.of(suite(record("flash", K)))) is None
    before = kernels({"cuda:h100": (kernel_of(occupancy=None),)})
    assert occupancy(CaseGrid.of(suite(record("flash", K, static=before)))) is None


def test_the_least_occupied_kernel_is_the_title_and_bars_beyond_the_page_are_counted():
    many = tuple(kernel_of(kernel=f"part_{number}", occupancy=number / 64) for number in range(1, MOST + 4))
    chart = occupancy(CaseGrid.of(suite(record("flash", K, static=kernels({"cuda:h100": many})))))
    assert chart.title == "least occupied: part_1 on cuda:h100: 2 %, registers (168 a thread)"
    assert len(chart.panels[0].bars) == MOST
    assert "3 more bars are not drawn; seqsweep export --kernels has all kernels" in chart.notes


def rich():
    """Two implementations, three of whose kernels are autotuned, in two modes on two targets."""
    tuned = tuple(replace(SPILLING, configuration=f"BM={bm} BN=64 warps=4 stages=3") for bm in (64, 128))
    by_target = {"cuda:a100": (SMALL, *tuned), "cuda:h100": (kernel_of(), SHARED, tuned[1])}
    return suite(
        *(
            record(name, K, static=kernels(by_target), mode=mode)
            for name in ("flash", "other")
            for mode in ("fwd", "bwd")
        ),
        baseline="",
    )


def test_it_is_drawn_with_its_limiters_and_can_be_read():
    words = words_of("occupancy", rich(), COMPILED)
    for text in ("occupancy at 1Ki", "6 %, registers (255 a thread), spills 1.05 KiB", "100 %"):
        assert text in words
    with style():
        _, figure = suite_figures(rich(), COMPILED, kinds=["occupancy"])["occupancy"]
        assert_legible(figure, "occupancy")


def on_tpu(*kernels):
    return {"tpu:v5p": replace(static(2**20), tpu_kernels=kernels)}


def test_a_tpu_kernel_s_share_of_vmem_is_its_bar():
    refused = tpu_kernel_of(kernel="wide", vmem_bytes=32 << 20, refused="needs too much")
    known = on_tpu(tpu_kernel_of(), refused, tpu_kernel_of(kernel="unread", vmem_bytes=None))
    chart = occupancy(CaseGrid.of(suite(record("scan", K, static=known))))
    assert chart.x_label == "VMEM used at 1Ki"
    assert [(bar.share, bar.words, bar.alarming) for bar in chart.panels[0].bars] == [
        (0.25, "25 %, 4 MiB of 16 MiB", False),
        (1.0, "200 %, 32 MiB of 16 MiB, does not fit", True),
    ]
    assert chart.title == "fullest: wide on tpu:v5p: 200 %, 32 MiB of 16 MiB, does not fit"


def test_gpus_and_tpus_have_panels_of_their_own():
    both = record("both", K, static=on_tpu(tpu_kernel_of()) | kernels({"cuda:h100": (kernel_of(),)}))
    chart = occupancy(CaseGrid.of(suite(both)))
    assert [panel.title for panel in chart.panels] == ["occupancy", "VMEM used"]
    assert [bar.share for panel in chart.panels for bar in panel.bars] == [0.1875, 0.25]
