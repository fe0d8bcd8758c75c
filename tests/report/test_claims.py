"""Verdicts made by hand, as they stand on a terminal, in the document and in JSON."""

import json
from dataclasses import replace

import pytest
from rich.console import Console

from harness.report.claims import claims_data, print_claims, totals
from harness.report.claims_page import alike, page, parts
from harness.spec.claim import (
    CONTRADICTED,
    ELSEWHERE,
    IMPLAUSIBLE,
    NOT_CHECKABLE,
    REPRODUCED,
    Claim,
    Figure,
    Read,
    Table,
    Verdict,
)
from harness.spec.expression import parse


def claim(name, expect=REPRODUCED, **more):
    return Claim(
        "mask",
        name,
        "claims.yaml:2",
        f"What {name} says",
        "a pull request",
        "1a2b3c4",
        "a TPU",
        expect,
        **more,
    )


def figure(name, **more):
    return Figure(name, "claims.yaml:9", **more)


MEMORY = Verdict(
    claim("memory", shape={"rows": 1024, "seq": 131072}, given=("rows", "seq"), target="tpu:v5p"),
    REPRODUCED,
    "Both figures agree within 5 % or exactly.",
    (
        Read(
            figure("temp", unit="B", theirs=parse("2Gi"), ours=parse("2Gi + 1Mi"), within=0.05),
            theirs=2**31,
            ours=2**31 + 2**20,
            agrees=True,
            by=("compiled for tpu:v5p",),
            targets=("tpu:v5p",),
        ),
        Read(
            figure("ratio", unit="×", theirs=parse("50"), upto=parse("800"), ours=parse("64.69")),
            theirs=50,
            upto=800,
            ours=64.69,
            agrees=True,
        ),
    ),
)
RATE = Verdict(
    claim(
        "rate",
        IMPLAUSIBLE,
        table=Table(
            ("n", "dense"),
            ((65536, 3.7), (131072, "OOM"), (1000, None), (10**6, 26581.04)),
            (("64Ki", "3.70"), ("128Ki", "OOM"), ("1000", "null"), ("1_000_000", "26581.04")),
        ),
    ),
    IMPLAUSIBLE,
    "It is above the peak.",
    (
        Read(
            figure("rate", unit="TFLOP/s", implied=parse("n / 1"), at_most=parse("2 * 1125"), each=True),
            upto=2250,
            ours=4990.0,
            agrees=False,
            row="64Ki",
        ),
    ),
)
TIME = Verdict(
    claim("time", NOT_CHECKABLE, not_checkable="needs a TPU"),
    NOT_CHECKABLE,
    "needs a TPU.",
    (
        Read(figure("time", unit="ms", theirs=parse("153")), theirs=153),
        Read(
            figure("seen", unit="×", ours=parse('flops("a", "tpu:v5p") / 2')),
            ours=2.4321,
            by=("compiled for tpu:v5p",),
        ),
    ),
)
SURPRISE = Verdict(claim("surprise"), CONTRADICTED, "Size: 2 here, 1 published.")
LACKING = Verdict(
    claim("lacking"),
    NOT_CHECKABLE,
    "libtpu is not installed.",
    (Read(figure("temp", theirs=parse("1"), ours=parse("1")), theirs=1, missing="libtpu is not installed"),),
    incomplete="libtpu is not installed",
)
ALL = (MEMORY, RATE, TIME, SURPRISE, LACKING)


def test_totals_are_in_the_order_of_the_verdicts():
    assert totals(ALL) == "5 claims: 1 reproduced, 1 contradicted, 1 implausible, 2 not checkable here"
    assert totals([MEMORY]) == "1 claim: 1 reproduced"
    assert totals([]) == "0 claims"


def shown(verdicts, width=140):
    console = Console(width=width, record=True, file=open("/dev/null", "w"), highlight=False)  # noqa: SIM115, PTH123
    with console.file:
        print_claims(console, verdicts)
        return console.export_text()


def test_theirs_stands_beside_ours():
    text = shown(ALL)
    (line,) = [line for line in text.splitlines() if "temp" in line and "GiB" in line]
    assert line.split()[:6] == ["mask/memory", "temp", "2.000", "GiB", "2.001", "GiB"]
    assert "50 to 800×" in text
    (line,) = [line for line in shown(ALL, 260).splitlines() if "rate at 64Ki" in line]
    assert line.index("4\u202f990 TFLOP/s") < line.index("≤ 2\u202f250 TFLOP/s")
    assert text.strip().endswith(totals(ALL))


def test_a_verdict_that_nobody_expected_is_shown_plainly():
    assert "contradicted (expected reproduced): Size: 2 here, 1" in " ".join(shown([SURPRISE]).split())
    assert "expected" not in shown([LACKING])


@pytest.mark.parametrize("width", [60, 80, 200])
def test_it_fits_the_terminal(width):
    assert max(len(line) for line in shown(ALL, width).splitlines()) <= width


VERSIONS = {"jax": "0.10.2", "libtpu": "0.0.52"}
WHOLE = """\
### mask/memory

What memory says

- source: a pull request @ 1a2b3c4
- hardware: a TPU (here: tpu:v5p)
- shape: rows 1Ki, seq 128Ki
- verdict: **reproduced**: Both figures agree within 5 % or exactly.

| figure | theirs | ours | tolerance | taken from |
| --- | --- | --- | --- | --- |
| temp | 2.000 GiB | 2.001 GiB | 5 % | compiled for tpu:v5p |
| ratio | 50 to 800× | 64.69× | exact | arithmetic |
"""


def test_the_document_says_what_it_is_exact_for_and_what_words_mean():
    text = page(ALL, VERSIONS)
    head = text.split("## mask")[0]
    assert "jax 0.10.2, libtpu 0.0.52" in head
    assert "| reproduced | 1 |" in head
    assert "| reproduced on another target | 0 |" in head
    assert "seqsweep claims --check" in head


def test_a_claim_in_the_document():
    text = page(ALL, VERSIONS)
    assert WHOLE in text
    assert "| rate, at 64Ki | 4\u202f990 TFLOP/s | ≤ 2\u202f250 TFLOP/s ✗ | – | arithmetic |" in text
    assert "| time | 153 ms | – | – | as published |" in text
    assert "| seen | – | 2.432× | – | compiled for tpu:v5p |" in text
    assert "**contradicted** (expected reproduced): Size" in text
    assert "| temp | 1 | none: libtpu is not installed | exact | arithmetic |" in text


def test_a_published_table_stands_as_it_was_written():
    rows = "| 64Ki | 3.70 |\n| 128Ki | OOM |\n| 1000 | – |\n| 1_000_000 | 26581.04 |"
    assert f"| n | dense |\n| ---: | ---: |\n{rows}\n" in page(ALL, VERSIONS)


@pytest.mark.parametrize(
    ("source", "version", "line"),
    [
        ("a thread", "1a2b3c4", "a thread @ 1a2b3c4"),
        ("a thread", "not stated", "a thread"),
        ("arXiv 2502.11089", "arXiv 2502.11089", "arXiv 2502.11089"),
        ("arXiv 2506.04165, abstract", "2506.04165", "arXiv 2506.04165, abstract"),
    ],
)
def test_a_version_stands_beside_its_source_where_it_adds_something(source, version, line):
    one = Verdict(replace(claim("one"), source=source, version=version), CONTRADICTED, "x")
    assert f"\n- source: {line}\n" in page([one], VERSIONS)


HOST = "compiled for host"


def row(own, tolerance="–", by=HOST, published="4×"):
    return f"| name | {published} | {own} | {tolerance} | {by} |"


@pytest.mark.parametrize(
    ("known", "new", "same"),
    [
        (row("≈\u202f1\u202f000×"), row("≈\u202f1\u202f049×"), True),
        (row("≈\u202f1\u202f000×"), row("≈\u202f1\u202f060×"), False),
        (row("≈\u202f1\u202f000×", "25 %"), row("≈\u202f1\u202f200×", "25 %"), True),
        (row("≈\u202f1\u202f000×", "25 %"), row("≈\u202f1\u202f400×", "25 %"), False),
        (row("≈\u202f100×", published="84 %"), row("≈\u202f150×", published="84 %"), False),
        (row("≈\u202f2.749e11"), row("≈\u202f2.75e11"), True),
        (row("≈\u202f1.000 GiB"), row("≈\u202f1020 MiB"), True),
        (row("≈\u202f1.000 GiB"), row("≈\u202f1.000 MiB"), False),
        (row("≈\u202f-1.000 GiB"), row("≈\u202f-1.001 GiB"), True),
        (row("≈\u202f1.000×"), row("≈\u202f1.000 ms"), False),
        (row("≈\u202f4×"), row("≈\u202f4× ✗"), False),
        (row("≈\u202f4×"), row("≈\u202f4×", "25 %"), False),
        (row("≈\u202f4×"), row("≈\u202f4×", published="4.01×"), False),
        (row("4×", by="compiled for tpu:v5p"), row("4.01×", by="compiled for tpu:v5p"), False),
        (
            "- verdict: **contradicted**: ≈\u202f2 here.",
            "- verdict: **contradicted**: ≈\u202f2.01 here.",
            True,
        ),
        ("- verdict: **contradicted**: ≈\u202f2 here.", "- verdict: **implausible**: ≈\u202f2 here.", False),
        ("about ≈ 2", "about ≈ 2.01", False),  # someone's words
        ("one line", "one line\nand another", False),
        ("one line", "one line\n", False),
    ],
)
def test_only_what_another_processor_may_change_may_differ(known, new, same):
    assert alike(known, new) is same
    assert alike(new, known) is same


def test_what_the_document_marks_is_what_may_differ():
    def of(flops):
        counted = figure("flops", theirs=parse("8"), ours=parse('flops("a", "host")'), within=0.5)
        told = Read(counted, theirs=8, ours=flops, agrees=True, by=(HOST,))
        return page([Verdict(claim("one"), REPRODUCED, "x", (told,))], VERSIONS)

    assert "| flops | 8 | ≈\u202f9 | 50 % | compiled for host |" in of(9)
    assert of(9) != of(10)
    assert alike(of(9), of(10))
    assert "Numbers with ≈ rest on the host's compiler" in of(9)


def test_the_document_is_the_same_for_the_same_figures_and_has_an_index():
    text = page(ALL, VERSIONS)
    assert text == page(tuple(ALL), dict(VERSIONS))
    assert "| [memory](#maskmemory) | What memory says | reproduced |" in text
    assert text.endswith("\n")
    assert not text.endswith("\n\n")


def test_a_bar_in_a_text_does_not_break_a_table():
    bar = Verdict(claim("bar"), ELSEWHERE, "x", (Read(figure("a|b", theirs=parse("1")), theirs=1),))
    assert "| a\\|b | 1 |" in page([bar], VERSIONS)


def test_the_parts_of_a_document_are_its_claims():
    found = parts(page(ALL, VERSIONS))
    assert list(found) == ["", "mask", *(one.claim.name for one in ALL)]
    assert found["mask/memory"] == WHOLE.removeprefix("### mask/memory\n").strip()
    changed = parts(page([MEMORY, SURPRISE], VERSIONS))
    assert changed["mask/memory"] == found["mask/memory"]
    assert changed["mask"] != found["mask"]


def test_what_leaves_the_program_is_exact_and_plain():
    data = json.loads(json.dumps(claims_data(ALL)))["claims"]
    assert [one["id"] for one in data][:2] == ["mask/memory", "mask/rate"]
    memory, rate, time, surprise, lacking = data
    assert memory["figures"][0]["ours"] == 2**31 + 2**20
    assert memory["figures"][0]["within"] == 0.05
    assert memory["figures"][1]["theirs"] == [50, 800]
    assert memory["shape"] == {"rows": 1024, "seq": 131072}
    assert rate["figures"][0]["implied"] == 4990.0
    assert rate["figures"][0]["at_most"] == 2250
    assert rate["table"]["rows"][1] == [131072, "OOM"]
    assert "theirs" not in rate["figures"][0]
    assert [one["kind"] for one in memory["figures"] + rate["figures"]] == ["compared"] * 2 + ["bounded"]
    assert [(one["kind"], one["theirs"], one["ours"]) for one in time["figures"]] == [
        ("shown", 153, None),
        ("shown", None, 2.4321),
    ]
    assert time["figures"][0]["agrees"] is None
    assert (surprise["unexpected"], surprise["verdict"]) == (True, "contradicted")
    assert lacking["incomplete"] == "libtpu is not installed"
