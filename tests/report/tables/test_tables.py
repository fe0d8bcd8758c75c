"""Tables and their sentences at 100 and 200 columns, compared with golden files."""

import io
from dataclasses import replace

import pytest
from rich.console import Console
from rich.text import Text

from harness.analysis.results import StepModel
from harness.core.errors import UsageError
from harness.core.kernel_figures import OnChipOverflow, OperandBlock, TpuKernelFigures
from harness.core.peak_owners import Owner, OwnerChange, Owners
from harness.core.record import Checked, Correctness, Cost
from harness.core.static_figures import Collective, Static
from harness.report.console import TextConsole
from harness.report.run_report import launch_lines
from harness.report.tables.bounds_table import bound_lines, print_roofline, sentences
from harness.report.tables.checks import print_checks
from harness.report.tables.kernels import kernel_lines, kernel_page, kernels_table
from harness.report.tables.max_seq import fits_of, longest_lines, longest_table
from harness.report.tables.owners_table import (
    caveats,
    change_sentence,
    comparison_lines,
    peak_sentence,
    place_of,
)
from harness.report.tables.render import print_tables
from harness.report.tables.suite import CHOICES, check_columns, suite_tables
from harness.report.tables.targets import (
    collective_lines,
    detail_table,
    growth_table,
    program_lines,
    targets_table,
)
from tests.goldens import assert_golden, scenes
from tests.records import FAILED, kernel_of, timing_of
from tests.records import record_of as bare_record
from tests.report.charts.suites import record as on_machine
from tests.report.charts.suites import static as planned
from tests.report.charts.suites import suite as suite_on_machine
from tests.report.conftest import record_of, results_of_records, static_of
from tests.rooflines import machine

K, MIB, GIB = 1024, 2**20, 2**30
WIDTHS = (100, 200)
LIMITS = {"host": 18 * GIB, "tpu:v5e": 16 * GIB, "tpu:v5p": 95 * GIB}


def printed(*parts, width):
    """Tables and lines as printed on a console of this width."""
    out = io.StringIO()
    console = Console(file=out, width=width)
    for part in parts:
        if isinstance(part, str):
            console.print(Text(part), soft_wrap=True)
        elif callable(part):
            part(console)
        elif part is not None:
            print_tables(console, part)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


def assert_printed(name, shown):
    """The scenes at both widths, the second time only those that differ."""
    narrow, wide = ({scene: printed(*parts, width=w) for scene, parts in shown.items()} for w in WIDTHS)
    differ = {f"{scene}, {WIDTHS[1]} columns": text for scene, text in wide.items() if text != narrow[scene]}
    assert_golden(name, scenes(narrow | differ))


def panel_of(*records, baseline="mask/broadcast"):
    (only,) = results_of_records(records, baseline).panels.values()
    return only


def tables_of(*records, baseline="mask/broadcast", **more):
    return [
        table for tables in suite_tables(results_of_records(records, baseline), **more) for table in tables
    ]


def timed(name, seconds, seq=4 * K, rounds=6, **more):
    return record_of(name, seq, timing=timing_of([seconds] * rounds, **more.pop("timing", {})), **more)


def wrong(name, seq=4 * K, reason="12 elements differ", **more):
    return record_of(name, seq, "incorrect", correctness=FAILED, reason=reason, **more)


PAIR = [timed("broadcast", 2.0), timed("scatter", 1.0)]
STOLEN = "the host took 12 % of the processor's time during sampling (steal)"
ENDS = (("timeout", "took too long"), ("oom", "killed at its limit"), ("timeout", "took too long"))
H100 = {"device": "cuda", "cpu": "AMD EPYC", "gpu": {"name": "NVIDIA H100 80GB HBM3"}}
OTHER = {"device": "cuda", "cpu": "AMD EPYC", "gpu": {"name": "another GPU"}}
UNCOUNTED = Correctness("exact", False, "whole", {"mismatches": None})  # a result of another shape


def rated(cost, facts=None, **more):
    """Two cases that take 2 and 1 ms for the same work."""
    records = [
        timed(name, s, cost=cost, fingerprint="f", **more)
        for name, s in (("broadcast", 2e-3), ("scatter", 1e-3))
    ]
    results = results_of_records(records)
    return [
        t for ts in suite_tables(replace(results, fingerprints={"f": facts} if facts else {})) for t in ts
    ]


def test_an_unknown_column_lists_those_that_exist():
    check_columns(CHOICES)
    with pytest.raises(UsageError, match='unknown column "GFLOP/s"; nearest: "FLOP/s"; known: time, 95 %'):
        check_columns(["time", "GFLOP/s"])


def growing():
    figures = [(seq, {"host": static_of(bytes_accessed=3.0 * seq)}) for seq in (4 * K, 8 * K)]
    return tables_of(*(record_of("broadcast", seq, static=own) for seq, own in figures))


def test_suites():
    half = on_machine("scatter", 4 * K, 1.0, cost=Cost(5e10, None))
    roofs = replace(suite_on_machine(half), rooflines={half.fingerprint: machine()})
    layered = replace(results_of_records(PAIR), layers=58)
    assert_printed("suite_tables.txt", {
        "expected failures": tables_of(
            wrong("a", expected=True), wrong("b"), record_of("c", 4 * K, expected=True)
        ),
        "too few rounds": tables_of(timed("broadcast", 1.0, rounds=3), timed("scatter", 1.0, rounds=3)),
        "a long reason": tables_of(record_of("a", 4 * K, "crashed", reason="killed by a signal " * 40)),
        "a crash": tables_of(
            record_of("a", 4 * K, "crashed", reason="ValueError: no " * 30, crash_file="crashes/mask-a.txt")
        ),
        "replicates": tables_of(*(
            timed(name, seconds, rounds=8, replicate=process)
            for process in range(4) for name, seconds in (("broadcast", 0.004), ("scatter", 0.002))
        )),
        "processes that failed": tables_of(timed("broadcast", 1.0), *(
            record_of("broadcast", 4 * K, end, replicate=i, reason=why) for i, (end,
                why) in enumerate(ENDS, 1)
        )),
        "only checked": tables_of(
            record_of("a", 4 * K), record_of("b", 4 * K, "incorrect", correctness=UNCOUNTED), baseline=None
        ),
        "no baseline": tables_of(*PAIR, *(timed(r, 1.0, 8 * K) for r in ("broadcast", "scatter")),
            baseline=None),
        "never faster": tables_of(*(
            timed(name, seconds, seq) for seq in (4 * K, 8 * K) for name, seconds in (("broadcast", 1.0),
                ("scatter", 2.0))
        )),
        "a warning": tables_of(PAIR[0], timed("scatter", 1.0, timing={"warnings": (STOLEN,)})),
        "bytes grow without times": growing(),
        "a loop's body": tables_of(record_of("a", 4 * K, static={"host": static_of(flops=8.0,
            body_only=True)})),
        "layers of a model": [t for ts in suite_tables(layered) for t in ts],
        "units of rates": rated(Cost(flops=4e8, bytes=1.5e3, dense_flops=8e12)),
        "a documented peak": rated(Cost(flops=4e11, bytes=1e9), H100, device="cuda",
            workload={"dtype": "bf16"}),
        "a GPU without ceilings": rated(Cost(flops=4e11, bytes=1e9), OTHER, device="cuda"),
        "a mode without a count": rated(Cost(flops=4e11, bytes=1e9), H100, device="cuda", mode="fwd_bwd"),
        "faster than a cache that is cold allows": rated(Cost(bytes=2e10), H100, device="cuda"),
        "shares of a roof": [t for ts in suite_tables(roofs, requested=("roof",)) for t in ts],
        "columns that are asked for": tables_of(*(
            record_of(name, 4 * K, timing=timing_of([1.0] * 6), static={"host": static_of(temp_bytes=size)})
            for name, size in (("broadcast", 4 * MIB), ("scatter", MIB))
        ), requested=("temp/base", "peak", "95 %")),
    })  # fmt: skip


WORDS = "Ran out of memory in memory space hbm. Used 33.1G of 15.75G hbm."
ALL = ("argument_bytes", "output_bytes", "temp_bytes", "alias_bytes", "peak_bytes", "flops", "bytes_accessed")
REFUSED = Static(unavailable=dict.fromkeys((*ALL, "program"), WORDS), fits=False)
OVERFLOW = OnChipOverflow("vmem", 32 << 20, 16 << 20)
FACTS = {"reduction": 0, "reduction on tpu:v5e": 6, "reduction on tpu:v5p": 6, "tail on tpu:v5e": None}


def fitting(temp=8, **more):
    return static_of(
        temp_bytes=temp, fits=True, argument_bytes=GIB, output_bytes=GIB, alias_bytes=0, flops=8.0, **more
    )


def on(name, seq=4 * K, status="ok", **targets):
    more = {key: targets.pop(key) for key in ("facts", "reason", "framework", "cost") if key in targets}
    static = {target.replace("_", ":", 1): figures for target, figures in targets.items()}
    return record_of(name, seq, status, static=static, **more)


def test_targets():
    both = {"host": fitting(), "tpu_v5e": fitting()}
    base = on("broadcast", **both)
    doubt = fitting(warnings=("the device would run another program",))
    body = [
        on("broadcast", seq, tpu_v5e=static_of(flops=1.0 * seq, temp_bytes=seq, body_only=True))
        for seq in (4 * K, 8 * K, 16 * K)
    ]
    whole = static_of(
        argument_bytes=GIB, output_bytes=GIB, temp_bytes=GIB, alias_bytes=GIB, peak_bytes=3 * GIB,
        generated_code_bytes=2048, bytes_accessed=4.0 * GIB, optimal_s=0.002, lower_s=0.03, compile_s=1.2,
        custom_calls=("PartialReduce",), opcodes={"add": 3, "sort": 1, "custom-call": 1, "dot": 2},
    )  # fmt: skip
    moved = static_of(collectives=(Collective("all-gather", 1, 32 * MIB), Collective("all-reduce", 2, 4096)))
    same = [
        on(name, seq, tpu_v5p=static_of(program=f"{seq}{name if seq == 65536 else ''}"),
            tpu_v6e=static_of(program=f"{seq}"))
        for seq in (4 * K, 16 * K, 64 * K) for name in ("broadcast", "approx")
    ]  # fmt: skip
    eager = [
        on(name, framework="torch", host=static_of(program="sha256:1")) for name in ("broadcast", "approx")
    ]

    def shown(*records):
        return [targets_table(panel_of(*records), LIMITS)]

    assert_printed("targets_tables.txt", {
        "a loop's body": [*shown(body[0]), growth_table(panel_of(*body))],
        "a compiler that refuses": shown(base, on("scatter", host=fitting(), tpu_v5e=REFUSED)),
        "not compiled": shown(base, on("scatter", host=fitting()), on("sorted", status="unsupported",
            reason="topk ≥ seq")),
        "facts of targets": shown(on("broadcast", facts=FACTS, **both)),
        "a doubt": shown(on("broadcast", host=doubt, cuda_h200=doubt)),
        "a core's memory": shown(on("scatter", tpu_v5p=replace(Static.none(f"wide {OVERFLOW.sentence()}"),
            fits=False, overflow=OVERFLOW))),
        "the detail of one": [detail_table(panel_of(on("broadcast", tpu_v5e=whole, cost=Cost(flops=7.0,
            bytes=GIB))), "tpu:v5e")],
        "equal programs": [*program_lines(results_of_records(same)),
            *program_lines(results_of_records(same[:4])), *program_lines(results_of_records(eager))],
        "collectives": collective_lines(results_of_records([on("sharded", seq,
            **{"tpu_v5p:4x4x8": moved}) for seq in (4 * K, 8 * K)])),
    })  # fmt: skip


def costing(name, seq, flops, bytes_=1):
    static = {target: planned(MIB) for target in ("cuda:h100", "cuda:a100")}
    return on_machine(
        name, seq, status="planned", workload={"dtype": "bf16"}, static=static, cost=Cost(flops, bytes_, None)
    )


def test_bounds_and_ceilings():
    lengths = (K, 4 * K, 16 * K)
    dense = [costing("broadcast", seq, 989e12 * (seq / (16 * K)) ** 2) for seq in lengths]
    sparse = [costing("sparse", seq, 989e12 * seq / (64 * K)) for seq in lengths]
    small = [costing("small", seq, 989e9) for seq in lengths]

    def shown(*records):
        return bound_lines(suite_on_machine(*records))

    def roofline(console):
        facts = {"gpu": {"name": "NVIDIA H100 80GB HBM3"}, "cores": 2}
        print_roofline(TextConsole(file=console.file, width=console.width), facts, machine())

    assert_printed("bounds.txt", {
        "below the baseline's": shown(*dense, *sparse, *small),
        "by bytes": shown(costing("broadcast", K, 1e12), costing("copy", K, 1.0, 3_352_320_000_000)),
        "a busy machine": sentences(replace(machine(), load=9.24), 2),
        "ceilings": [roofline],
    })  # fmt: skip


def checked(passed, **more):
    return (Checked("mask/kept_count", "threshold may keep more than k (MaxText #4437)", passed, **more),)


def test_checks():
    failed = record_of("threshold_raw", 4 * K, checks=checked(False, reason="row 3 keeps 2050 of 2048"))
    measured = record_of("scatter", 4 * K, checks=checked(None, figures={"leak": 0.25}))
    assert (failed.unexpected, measured.unexpected) == (True, False)
    figures = {"expected_recall": 0.9995027905, "calls": None, "lost": 5}
    shown = {
        "one holds, one fails": [record_of("scatter", 4 * K, checks=checked(True)), failed],
        "a property": [measured],
        "options and figures": [record_of("two_stage", 4 * K, options={"keep": 2}, checks=checked(None,
            figures=figures))],
        "many failures": [record_of("scatter", seq, checks=checked(False, reason="no")) for seq in (K,
            2 * K, 4 * K)],
    }  # fmt: skip
    assert_printed(
        "checks.txt", {name: [lambda c, own=own: print_checks(c, own)] for name, own in shown.items()}
    )


def launched(name, seq, device_us, latency_us, **more):
    known = {} if latency_us is None else {"latency_s": 1e-6 * latency_us, "latency_low_s": 1e-6 * latency_us}
    timing = {"method": "cupti", "cache": "flushed", **known, **more}
    return timed(name, 1e-6 * device_us, seq, timing=timing, device="cuda")


def test_launch_bound_lengths():
    def shown(*records):
        return launch_lines(results_of_records(records))

    dense = [launched("dense", 4 * K, 134, 190), launched("dense", 16 * K, 1287, 1300)]
    assert_printed("launch_bound.txt", {
        "the longest length at which it is bound": shown(*dense, launched("sparse", 4 * K, 500, 900)),
        "not for sure": shown(launched("dense", 4 * K, 134, 190, latency_low_s=140e-6)),
        "not bound": shown(launched("dense", 4 * K, 134, 150)),
        "of many the first": shown(*(launched(f"k{n}", 4 * K, 10, 100) for n in range(12))),
    })  # fmt: skip


SPILLING = kernel_of(
    kernel="backward", registers=255, spilled_bytes=1080, blocks_per_sm=1, spilled_at={"b.py:7": 3,
        "b.py:9": 40}
)  # fmt: skip
UNKNOWN = kernel_of(waves=None, tail=None, unavailable=dict.fromkeys(("waves", "tail"), "no device"))
UNLAUNCHED = kernel_of(
    kernel="vast", registers=24, blocks_per_sm=0, waves=None, tail=None, refused="a block needs 300000 B",
    unavailable=dict.fromkeys(("waves", "tail"), "a block needs 300000 B"),
)  # fmt: skip
HMMA = kernel_of(kernel="attend", instructions={"mma": 96}, grid=(64, 1), waves=0.07)
PATHS = (({"wgmma": 24}, 2), ({"global": 3, "mma": 96, "wgmma": 8}, 2), ({"float": 9}, 2), ({"float": 9}, 0))
PATHS += (({"float": 9}, None), ({"matrix": 120}, None))  # the last of an earlier version


def with_kernels(seq, kernels, target="cuda:h100", field="kernels", **more):
    return record_of(
        "flash", seq, static={target: replace(static_of(temp_bytes=1), **{field: kernels})}, **more
    )


def test_kernels():
    def shown(*by_length, pages=False):
        records = [
            with_kernels(seq, kernels)
            for seq, kernels in zip((4 * K, 8 * K, 16 * K), by_length, strict=False)
        ]
        panel, page = panel_of(*records), kernel_page(records[0], "cuda:h100")
        return [
            *kernel_lines(panel, "cuda:h100"),
            kernels_table(panel, "cuda:h100"),
            *(page if pages else ()),
        ]

    assert_printed("kernels.txt", {
        "spills": shown((kernel_of(), SPILLING), pages=True),
        "cannot be launched": shown((kernel_of(), UNLAUNCHED)),
        "none": shown((), pages=True),
        "warnings of the longest length": shown((HMMA,), (HMMA,), (HMMA,), pages=True),
        "paths of matrix products": shown(tuple(kernel_of(kernel=f"k{n}", instructions=own, products=p)
            for n, (own, p) in enumerate(PATHS))),
        "waves that are not known": shown((kernel_of(), UNKNOWN), pages=True),
    })  # fmt: skip


V5P = "tpu:v5p"
WHOLE = OperandBlock("q_ref", (8, 65536, 128), (128, 128), "bfloat16", "vmem", (16, 128))
CUT = OperandBlock("k_ref", (8, 65536, 64), (8, 64), "bfloat16", "vmem", (16, 128))
SCALARS = OperandBlock("next_ref", (1, 8), (1, 8), "int8", "smem", (32, 128))
FLASH = TpuKernelFigures(
    kernel="flash", source="flash.py:12", grid=(8, 512, 512), steps=8 * 512 * 512, vmem_bytes=448 << 10,
    vmem_limit_bytes=16 << 20, scratch_bytes=192 << 10, semaphores=2, blocks=(SCALARS, WHOLE, CUT),
    program="sha256:1", author_flops=int(3e12),
)  # fmt: skip
WIDE = replace(FLASH, kernel="wide", vmem_bytes=32 << 20, refused=OVERFLOW.sentence())


def test_tpu_kernels():
    def shown(*kernels, flops=1e12, mode="fwd"):
        record = with_kernels(64 * K, kernels, V5P, "tpu_kernels", mode=mode, cost=Cost(flops=flops))
        panel = panel_of(record)
        return [*kernel_lines(panel, V5P), kernels_table(panel, V5P), *kernel_page(record, V5P)]

    assert_printed("tpu_kernels.txt", {
        "the fullest": shown(replace(FLASH, kernel="other", vmem_bytes=1 << 10), FLASH, flops=None),
        "does not fit": shown(FLASH, WIDE, flops=None),
        **{f"an author's estimate, formula {flops:.1e}": shown(FLASH, flops=flops) for flops in (1e12,
            1.6e12, 9e12, 4e12)},
        "no estimate of one": shown(FLASH, replace(FLASH, author_flops=None)),
        "a backward": shown(FLASH, mode="bwd"),
        "a grid that is known when it runs": shown(replace(FLASH, grid=(8, -1), steps=-1)),
    })  # fmt: skip


SOURCE = {"repo": "org/configs", "path": "m_config.json", "commit": "0123456789", "sha256": "0"}


def longest(family, modes=("fwd",), **found):
    """A suite with the longest length that fits and the shortest that does not, per implementation."""
    records = [
        replace(on_machine(name, K, mode=mode), family=family, case=f"{family}/{name}@seq={K}:{mode}:cpu",
            implementation=f"{family}/{name}")
        for name in found for mode in modes
    ]  # fmt: skip
    results = replace(suite_on_machine(*records), name=family, family=family)
    model = StepModel("m (tp 8)", 61, 4, frozenset(r.case for r in records), SOURCE, longest=256 * K)
    panels = list(dict.fromkeys(own.panel for own in results.by_case.values()))
    largest = [
        {"suite": family, "implementation": f"{family}/{name}", "panel": panel, "target": V5P, "seq": fits,
         "beyond": beyond, "reason": None if beyond else "no compiler" if fits is None else "that still fits"}
        for name, (fits, beyond) in found.items() for panel in panels
    ]  # fmt: skip
    return replace(results, models=(model,)), largest


def test_longest_lengths():
    def shown(*families):
        entries = [entry for _, own in families for entry in own]
        fits = fits_of([own for own, _ in families], {"largest": entries})
        return [*longest_lines(fits), longest_table(fits)]

    results, entries = longest("mask", dense=(2 * K, 3 * K), flex=(8 * K, None), plain=(2 * K, 3 * K))
    plain = replace(results, models=())
    bounds = {"host": (26 * K, 28 * K, None), "tpu:v5e": (None, K, "the shortest does not fit"),
              V5P: (K * K, None, "the longest tried"), "cuda:h200": (None, None,
                  "not installed")}  # fmt: skip
    found = [
        {**entries[0], "target": target, "seq": seq, "beyond": beyond, "reason": why}
        for target, (seq, beyond, why) in bounds.items()
    ]
    tried = [{**entry, "trials": [{"seq": K}]} for entry in found]  # on a device, by an earlier version
    assert_printed("longest_lengths.txt", {
        "the family that ends it": shown(
            longest("mask", broadcast=(4 * K, 5 * K), scatter=(32 * K, 36 * K)), longest("topk",
                exact=(64 * K, None))
        ),
        "forward and backward": shown(longest("topk", ("fwd", "fwd_bwd"), exact=(None, K))),
        "every context": shown(longest("topk", exact=(64 * K, None))),
        "no context is known": shown(longest("topk", exact=(None, None))),
        "a family without a plan": shown(longest("topk", exact=(64 * K, None)), longest("mla", naive=(None,
            None))),
        "no model": shown((plain, entries)),
        "by target": shown((plain, [*tried, *found])),
    })  # fmt: skip


BIG = Owner("fusion.1", "temp", 32 << 30, "eq", "pred[1,2]", "impls/mask/broadcast.py:21")
INPUT = Owner("q", "argument", 1 << 30, "", "f32[268435456]", "")
PEAK = Owners(33 << 30, 0, 0, (BIG, INPUT), (0, 0))


def with_owners(name, *sizes):
    """An implementation with a buffer of each size in MiB, each with a different shape."""
    owners = tuple(
        Owner(f"{name}.{at}", "temp", size * MIB, name, f"f32[{at},{size}]", f"{name}.py:{at}") for at,
            size in enumerate(sizes)
    )  # fmt: skip
    static = static_of(argument_bytes=0, output_bytes=0, temp_bytes=sum(sizes) * MIB)
    return bare_record(
        name, K, static={"host": replace(static, owners=Owners(sum(sizes) * MIB, 0, 0, owners, (0, 0)))}
    )


def test_owners():
    half = replace(BIG, bytes=16 << 30)
    peaks = (
        PEAK, replace(PEAK, owners=(INPUT,), peak_bytes=20 << 30), replace(PEAK, owners=(),
            gap_bytes=33 << 30),
        replace(PEAK, owners=(replace(INPUT, bytes=9 << 30),), peak_bytes=9 << 30),
    )  # fmt: skip
    places = (
        replace(BIG, kind="output"),
        replace(BIG, kind="saved"),
        replace(BIG, source="", operator="fusion"),
    )
    changes = ((None, BIG), (half, BIG), (BIG, half), (INPUT, None))
    unlike = (PEAK, replace(PEAK, difference_bytes=-512), replace(PEAK, gap_bytes=4 << 30))
    assert_printed("owners.txt", {
        "less than another": comparison_lines([with_owners("broadcast", 64, 4, 2, 1),
            with_owners("scatter", 32)], "host"),
        "more than another": comparison_lines([with_owners("broadcast", 4), with_owners("scatter", 8)],
            "host"),
        "peaks": list(map(peak_sentence, peaks)),
        "places": list(map(place_of, places)),
        "changes": [change_sentence(OwnerChange(*change)) for change in changes],
        "what is not the plan": [line for peak in unlike for line in caveats(peak)],
    })  # fmt: skip


def test_small_buffers_are_summed():
    many = [replace(INPUT, name=str(size), bytes=size) for size in range(1, 24)]
    total = sum(owner.bytes for owner in many)
    found = Owners.of(many, total + 8, total)
    listed = [owner.bytes for owner in found.owners]
    assert listed == sorted((owner.bytes for owner in many), reverse=True)[: len(listed)]
    assert found.others == (23 - len(listed), total - sum(listed))
    assert (found.gap_bytes, found.difference_bytes) == (8, 8)
