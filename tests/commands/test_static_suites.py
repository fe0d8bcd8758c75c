"""`seqsweep static --owners`: what goes with it, and its pages of records."""

from dataclasses import replace

import pytest

from harness.commands.static_suites import print_owners, print_since
from harness.core.errors import UsageError
from harness.core.peak_owners import Owner, Owners
from harness.core.static_figures import Static
from harness.gate.static.run import BaseFigures, compile_base
from tests.goldens import assert_golden, scenes
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


def test_buffer_breakdowns_equal_the_golden_file(capsys, monkeypatch):
    """The answer, what differs, a table of the longest; what grew since a base; an unknown peak; warnings."""
    monkeypatch.setenv("COLUMNS", "120")
    both = (("broadcast", PEAK), ("scatter", SMALL))
    wider = (*PEAK.owners, replace(INPUT, name="mask", bytes=2 * MIB))
    wide = replace(PEAK, peak_bytes=38 * MIB, owners=wider)
    now = [case(name, 1024, found) for name, found in (("grown", wide), ("same", PEAK), ("lost", PEAK))]
    figures = {
        (now[0].case, "tpu:v5p"): case("any", 1024, SMALL).static["tpu:v5p"],
        (now[1].case, "tpu:v5p"): case("any", 1024, PEAK).static["tpu:v5p"],
        (now[2].case, "tpu:v5p"): Static.none("lost is not registered in the base"),
    }
    plain = case("broadcast", 1024, PEAK)
    doubt = replace(plain.static["tpu:v5p"], warnings=("temporaries leave out what operators allocate",))
    shown = {}
    print_owners([case(name, seq, found) for seq in (1024, 4096) for name, found in both], ["tpu:v5p"])
    shown["owners"] = capsys.readouterr().out
    print_since([*now, case("rival", 1024, PEAK)], ["tpu:v5p"], BaseFigures("git:abc1234 (HEAD~1)", figures))
    shown["since a base"] = capsys.readouterr().out
    print_owners([case("broadcast", 1024, None, owners="the compiler tells nothing")], ["tpu:v5p"])
    shown["nobody"] = capsys.readouterr().out
    print_owners([replace(plain, static={"tpu:v5p": doubt})], ["tpu:v5p"])
    shown["a warning"] = capsys.readouterr().out
    assert_golden("owners_pages.txt", scenes(shown))


def test_a_base_is_another_state_of_the_suites():
    project, schedule = None, None  # refused before either is looked at
    with pytest.raises(UsageError, match="to compare implementations, name both"):
        compile_base(project, schedule, [], "impl:scatter", print)
