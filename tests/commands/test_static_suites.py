"""`seqsweep static --owners`: what goes with it, and its pages of records."""

from dataclasses import replace

import pytest

from harness.commands.app import app
from harness.commands.exit_codes import call_app
from harness.commands.static_suites import print_owners, print_since
from harness.core.errors import UsageError
from harness.core.peak_owners import Owner, Owners
from harness.core.static_figures import Static
from harness.gate.static.base_figures import BaseFigures, compile_base
from tests.report.charts.suites import record, static

MIB = 1 << 20
INPUT = Owner("topk_indices", "argument", 4 * MIB, "", "s32[1048576]", "")
PAIRS = Owner("fusion", "temp", 32 * MIB, "eq", "pred[33554432]", "impls/mask/broadcast.py:22")
PEAK = Owners(36 * MIB, 0, 0, (PAIRS, INPUT), (0, 0))
SMALL = Owners(4 * MIB, 0, 0, (INPUT,), (0, 0))


def case(name, seq, found, **unavailable):
    figures = static(MIB)
    return record(
        name,
        seq,
        static={
            "tpu:v5p": replace(figures, owners=found, unavailable={**figures.unavailable, **unavailable})
        },
    )


def test_the_answer_comes_first_then_what_differs_then_a_table_of_the_longest(capsys):
    records = [
        case(name, seq, found)
        for seq in (1024, 4096)
        for name, found in (("broadcast", PEAK), ("scatter", SMALL))
    ]
    print_owners(records, ["tpu:v5p"])
    said = capsys.readouterr().out
    first, *_ = said.splitlines()
    assert first.startswith(
        "broadcast at 1Ki on tpu:v5p: peak 36 MiB: 32 MiB is eq at impls/mask/broadcast.py:22"
    )
    assert "scatter plans 32 MiB less than broadcast at 4Ki on tpu:v5p:" in said
    assert "  went: 32 MiB, eq at impls/mask/broadcast.py:22, pred[33554432]" in said
    assert "mask/broadcast at 4Ki, fwd, on tpu:v5p" in said
    assert "mask/broadcast at 1Ki, fwd, on tpu:v5p" not in said
    row = next(line for line in said.splitlines() if line.startswith("fusion"))
    assert row.split()[:6] == ["fusion", "eq", "impls/mask/broadcast.py:22", "32", "MiB", "88.9"]


def test_what_grew_since_a_base_is_said_first_with_its_line(capsys):
    wider = replace(
        PEAK, peak_bytes=38 * MIB, owners=(*PEAK.owners, replace(INPUT, name="mask", bytes=2 * MIB))
    )
    base = BaseFigures(
        "git:abc1234 (HEAD~1)",
        {
            (now.case, "tpu:v5p"): case("any", 1024, owners).static["tpu:v5p"]
            for now, owners in [(case("grown", 1024, wider), SMALL), (case("same", 1024, PEAK), PEAK)]
        }
        | {(case("lost", 1024, PEAK).case, "tpu:v5p"): Static.none("lost is not registered in the base")},
    )
    now = [case(name, 1024, found) for name, found in (("grown", wider), ("same", PEAK), ("lost", PEAK))]
    print_since([*now, case("rival", 1024, PEAK)], ["tpu:v5p"], base)
    grown, input_, same, lost = capsys.readouterr().out.splitlines()
    assert grown == (
        "grown at 1Ki on tpu:v5p: the peak grew by 34 MiB since git:abc1234 (HEAD~1): "
        "came: 32 MiB, eq at impls/mask/broadcast.py:22, pred[33554432]."
    )
    assert input_ == "  came: 2 MiB, the argument mask, s32[1048576]"
    assert same.endswith("the peak neither grew nor shrank since git:abc1234 (HEAD~1): the same buffers.")
    assert lost == (
        "lost at 1Ki on tpu:v5p is not compared with git:abc1234 (HEAD~1): "
        "lost is not registered in the base."
    )


def test_a_base_is_of_suites_and_of_another_state_of_them(capsys):
    assert call_app(app, ["static", "k.py::add", "--args", "x:f32[8]", "--against", "git:HEAD"]) == 2
    assert "--against does not go with FILE.py::KERNEL" in capsys.readouterr().err
    project, schedule = None, None  # refused before either is looked at
    with pytest.raises(UsageError, match="name two implementations"):
        compile_base(project, schedule, [], "impl:scatter", print)


def test_why_nobody_owns_a_peak(capsys):
    print_owners([case("broadcast", 1024, None, owners="the compiler tells nothing")], ["tpu:v5p"])
    said = capsys.readouterr().out
    assert said == "broadcast at 1Ki on tpu:v5p: nobody owns the peak: the compiler tells nothing.\n"


def test_what_the_figures_warn_of_is_below_the_answer(capsys):
    now = case("broadcast", 1024, PEAK)
    warned = replace(now.static["tpu:v5p"], warnings=("temporaries leave out what operators allocate",))
    print_owners([replace(now, static={"tpu:v5p": warned})], ["tpu:v5p"])
    assert "! temporaries leave out what operators allocate" in capsys.readouterr().out.splitlines()
