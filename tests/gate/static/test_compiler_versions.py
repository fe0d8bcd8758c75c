"""Several environments, one code: what changed, for each case and target, in words and in a chart."""

import json
import platform
import re
import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest

from harness.commands.sentinel import compare_pythons
from harness.core.errors import SideError, UsageError
from harness.core.peak_owners import Owner, Owners
from harness.core.version import version_of
from harness.gate.outcome import IMPROVED, NEW, REGRESSED, UNCHANGED, VANISHED
from harness.gate.report.compiler_chart import draw_versions
from harness.gate.report.compiler_upgrades import issue_text, sentence
from harness.gate.sides.base import find_interpreter
from harness.gate.static import compiler_versions
from harness.gate.static.compiler_versions import (
    CompilerRun,
    Upgrade,
    compile_under,
    compiled_changes,
    upgrades_between,
    version_changes,
)
from tests.records import kernel_of, record_of, static_of

TPU, GPU = "tpu:v5p", "cuda:h100"
BENCH = "suites:\n  mask: {family: mask, seq: [256], topk: 32, baseline: broadcast, impls: [broadcast]}"


def compiled(name="scatter", target="host", **figures):
    whole = {"argument_bytes": 8, "output_bytes": 8, "temp_bytes": 100, "flops": 7, "program": "sha256:1"}
    return record_of(name, 1024, static={target: static_of(**{**whole, **figures})})


@pytest.mark.parametrize(
    ("figures", "verdict", "says"),
    [
        ({}, UNCHANGED, "same program"),
        ({"program": "sha256:2"}, UNCHANGED, "another program with the same figures"),
        ({"temp_bytes": 300, "program": "sha256:2"}, REGRESSED, "temp 100 B -> 300 B"),
        ({"flops": 3}, IMPROVED, "FLOPs 7 -> 3"),
    ],
)
@pytest.mark.parametrize("target", ["host", TPU])
def test_a_figure_is_held_to_the_one_of_before(figures, verdict, says, target):
    (change,) = compiled_changes([compiled(target=target)], [compiled(target=target, **figures)])
    assert (change.target, change.verdict) == (target, verdict)
    assert says in change.reason + "".join(change.notes)


@pytest.mark.parametrize("target", ["host", TPU])
def test_of_memory_that_grew_the_buffer_is_named(target):
    peaks = [
        Owners(size, 0, 0, (Owner("copy", "temp", size, "copy", "", "scatter.py:14"),), (0, 0))
        for size in (100, 300)
    ]
    before, now = (compiled(target=target, temp_bytes=peak.peak_bytes, owners=peak) for peak in peaks)
    (change,) = compiled_changes([before], [now])
    assert change.reason == "temp 100 B -> 300 B (3.00×); grew: 100 B -> 300 B, copy at scatter.py:14"


def test_registers_and_spills_are_held_too():
    before, now = (
        compiled(target=GPU, kernels=(kernel_of(registers=count, spilled_bytes=spilled),))
        for count, spilled in ((168, 0), (255, 64))
    )
    (change,) = compiled_changes([before], [now])
    assert change.verdict == REGRESSED
    assert "spilled" in change.reason


def test_the_largest_increase_comes_first_and_generated_code_is_none():
    before = [compiled(name, generated_code_bytes=10) for name in ("code", "more", "most", "less")]
    before.append(compiled("spills", kernels=(kernel_of(spilled_bytes=0),), target=GPU))
    now = [
        compiled("code", generated_code_bytes=999),
        compiled("more", generated_code_bytes=10, flops=14),
        compiled("most", generated_code_bytes=10, temp_bytes=900, flops=14),
        compiled("less", generated_code_bytes=10, temp_bytes=3),
        compiled("spills", kernels=(kernel_of(spilled_bytes=8),), target=GPU),
    ]
    changed = Upgrade({}, tuple(compiled_changes(before, now))).changed
    assert [case.case.partition("@")[0] for case in changed] == [
        f"mask/{name}" for name in ("spills", "most", "more", "code", "less")
    ]
    assert changed[1].increase == "temp 100 B -> 900 B (9.00×)"


def test_no_reason_speaks_of_the_gates_exceptions():
    before, now = (compiled(custom_calls=calls) for calls in ((), ("TopK",)))
    (change,) = compiled_changes([before], [now])
    assert change.reason.startswith("custom call TopK joined: ")
    assert "bench.yaml" not in change.reason


def test_a_case_may_come_go_or_fail():
    lost = replace(compiled("lost"))
    changes = compiled_changes([lost, compiled("base")], [compiled("base"), compiled("found")])
    assert [(c.case.partition("@")[0], c.verdict) for c in changes] == [
        ("mask/base", UNCHANGED), ("mask/found", NEW), ("mask/lost", VANISHED),
    ]  # fmt: skip


def test_the_sentence_counts_what_changed_and_names_the_versions():
    changes = compiled_changes(
        [compiled("a"), compiled("b"), compiled("c")],
        [compiled("a", temp_bytes=101), compiled("b", program="sha256:2"), compiled("c")],
    )
    assert sentence(Upgrade({"jaxlib": ("0.9.0", "0.10.2")}, tuple(changes))) == (
        "1 of 3 compiled cases changed from jaxlib 0.9.0 to 0.10.2: 1 regressed; "
        "1 have another program with the same figures. "
        "The largest increase: mask/a at 1Ki for host, temp 100 B -> 101 B (1.01×)."
    )
    assert (
        sentence(Upgrade({}, tuple(changes[2:])))
        == "None of 1 compiled cases changed, and no version differs."
    )
    assert sentence(Upgrade({}, ())).startswith("Nothing was compiled under either")


def test_versions_that_differ_are_named():
    before = {"python": "3.11.7", "torch": "2.13.0", "jaxlib": "0.9.0", "triton": None}
    now = {**before, "jaxlib": "0.10.2", "triton": "3.9.0"}
    assert version_changes(before, now) == {"jaxlib": ("0.9.0", "0.10.2"), "triton": (None, "3.9.0")}


@pytest.mark.full
def test_an_environment_says_which_versions_it_has(tmp_path):
    (tmp_path / "bench.yaml").write_text(BENCH)
    words = ["mask", "--config", str(tmp_path / "bench.yaml")]
    lines: list[str] = []
    versions = compile_under(sys.executable, words, tmp_path / "scratch", lines.append).versions
    assert any(line.startswith("[1/1]") for line in lines)  # its progress
    assert versions["python"] == platform.python_version()
    assert {name: versions[name] for name in ("jaxlib", "triton")} == {
        "jaxlib": version_of("jaxlib"), "triton": version_of("triton"),
    }  # fmt: skip


def test_what_is_no_environment_is_refused(tmp_path):
    with pytest.raises(UsageError, match="no such interpreter"):
        find_interpreter(str(tmp_path), "--python")
    with pytest.raises(UsageError, match="give it twice"):
        compare_pythons([sys.executable], [], json=False)
    empty = tmp_path / "python"
    empty.write_text("#!/bin/sh\necho it has no typer >&2; exit 1\n")
    empty.chmod(0o755)
    with pytest.raises(SideError, match="compiled nothing: it has no typer"):
        compile_under(find_interpreter(str(empty), "--python"), ["mask"], tmp_path)


@pytest.mark.parametrize(
    ("prints", "versions"),
    [
        ("", "does not say its versions: it has none"),
        ("[1]", "does not say its versions: it has none"),
        ('{"torch": 2}', "does not say its versions: it has none"),
        (
            'a startup file says hello\n{"torch": null, "python": "3.11.7"}',
            {"torch": None, "python": "3.11.7"},
        ),
    ],
)
def test_the_versions_are_its_last_line(tmp_path, monkeypatch, prints, versions):
    """A startup file of an environment may print, and one that compiled may be gone by now."""
    fake = tmp_path / "python"
    fake.write_text(f"#!/bin/sh\ncat <<'end'\n{prints}\nend\necho it has none >&2\n")
    fake.chmod(0o755)
    run = SimpleNamespace(info={"finished": "now"}, read=lambda: SimpleNamespace(records=[]))
    monkeypatch.setattr(compiler_versions, "all_runs", lambda _: [run])
    if isinstance(versions, str):
        with pytest.raises(SideError, match=versions):
            compile_under(str(fake), ["mask"], tmp_path)
    else:
        assert compile_under(str(fake), ["mask"], tmp_path).versions == versions


def test_what_else_changed_stands_below_its_case(monkeypatch, capsys):
    """Two cases with notes: each is below the case that it is of, and none of a case that is as it was."""
    sides = [
        [compiled(name, temp_bytes=100, output_bytes=80) for name in ("a", "b")],
        [compiled(name, temp_bytes=300, output_bytes=output) for name, output in (("a", 72), ("b", 64))],
    ]
    runs = (CompilerRun({}, tuple(records)) for records in sides)
    monkeypatch.setattr("harness.commands.sentinel.compile_under", lambda *_: next(runs))
    assert compare_pythons([sys.executable] * 2, [], json=False) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:]] == ["regressed:", "outputs"] * 2
    assert [compiled(name).case in line for name, line in (("a", lines[1]), ("b", lines[3]))] == [True, True]
    assert ["-> 72" in lines[2], "-> 64" in lines[4]] == [True, True]


RELEASES = [
    CompilerRun({"jaxlib": version, "python": "3.11"}, records)
    for version, records in {
        "0.9.0": (
            compiled("grows"), compiled("stays"),
            compiled("spills", GPU, kernels=(kernel_of(spilled_bytes=0),)),
        ),
        "0.10.0": (compiled("grows", temp_bytes=200), compiled("stays"), compiled("spills", GPU)),
        "0.10.2": (
            compiled("grows", temp_bytes=400), compiled("stays"),
            compiled("spills", GPU, kernels=(kernel_of(spilled_bytes=64),)), compiled("new"),
        ),
    }.items()
]  # fmt: skip


def test_a_chart_has_what_changed_over_all_releases():
    svg = draw_versions(RELEASES)
    assert svg is not None
    text = svg.decode()
    for words in ("jaxlib 0.9.0", "jaxlib 0.10.0", "jaxlib 0.10.2", "temp on host", "grows", "4×"):
        assert f">{words}" in text, words
    assert (
        "bytes spilled a thread on cuda:h100" in text
    )  # which the first release does not, so without a ratio
    assert {"stays", "new", "python"}.isdisjoint(re.findall(r">(\w+)", text))
    assert draw_versions(RELEASES[:1] * 2) is None


def test_a_chart_shows_of_an_implementation_the_case_that_changed_most_and_no_other_count():
    def case(rows, temp, source="compiled", flops=7):
        figures = static_of(temp_bytes=temp, flops=flops, flops_source=source)
        return record_of("a", 1024, workload={"rows": rows}, static={"host": figures})

    runs = [
        CompilerRun({"jaxlib": "1"}, (case(1, 100), case(2, 100))),
        CompilerRun({"jaxlib": "2"}, (case(1, 800, "optimised_module", 900), case(2, 200))),
    ]
    text = draw_versions(runs).decode()
    assert "rows=1" in text
    assert "rows=2" not in text
    assert "FLOPs on host" not in text


def test_an_issues_text_ends_before_github_cuts_it():
    before = [compiled(f"name{place}") for place in range(1200)]
    now = [compiled(f"name{place}", temp_bytes=200 + place) for place in range(1200)]
    text = issue_text([Upgrade({}, tuple(compiled_changes(before, now)))], ["seqsweep"])
    shown, left = text.count("regressed | temp"), int(re.search(r"And (\d+) more", text)[1])
    assert len(text) < 65_536
    assert shown + left == 1200
    assert "name1199" in text  # the largest


def test_an_issues_text_has_a_table_of_each_upgrade_and_no_name_is_its_markup():
    odd = [
        CompilerRun({"triton": version}, (compiled("a|b`@someone", temp_bytes=size),))
        for version, size in (("3.8.0", 100), ("3.9.0", 300))
    ]
    first, second, third = (issue_text(upgrades_between(runs), ["seqsweep", "sentinel", "my suite"])
                            for runs in (RELEASES, odd, odd[:1] * 2))  # fmt: skip
    assert first.count("# ") == 2
    assert "| host | regressed | temp 100 B -&gt; 200 B (2.00×) |" in first
    assert "\n| `mask/a\\|b'@someone@" in second
    assert second.endswith("\n\nTo repeat it: `seqsweep sentinel 'my suite'`\n")
    assert third.startswith("# None of 1 compiled cases changed, and no version differs.\n\nTo repeat")


def test_releases_are_compared_each_with_the_one_before(monkeypatch, capsys, tmp_path):
    runs = iter(RELEASES)
    monkeypatch.setattr("harness.commands.sentinel.compile_under", lambda *_: next(runs))
    chart, issue = tmp_path / "releases.svg", tmp_path / "issue.md"
    assert compare_pythons([sys.executable] * 3, [], issue=issue, out=chart, json=True) == 1
    upgrades = json.loads(capsys.readouterr().out)["upgrades"]
    assert [upgrade["versions"] for upgrade in upgrades] == [
        {"jaxlib": ["0.9.0", "0.10.0"]}, {"jaxlib": ["0.10.0", "0.10.2"]}
    ]  # fmt: skip
    assert chart.read_bytes().startswith(b"<?xml")
    assert issue.read_text().startswith("# ")
    with pytest.raises(UsageError, match=r"--issue .*cannot be written; name a file"):
        compare_pythons([sys.executable] * 2, [], issue=tmp_path, json=True)


def test_where_no_figure_changed_there_is_no_issue_and_no_chart(monkeypatch, capsys, tmp_path):
    runs = iter([RELEASES[0], RELEASES[0], CompilerRun({}, ()), CompilerRun({}, ())])
    monkeypatch.setattr("harness.commands.sentinel.compile_under", lambda *_: next(runs))
    files = {"issue": tmp_path / "issue.md", "out": tmp_path / "chart.svg"}
    assert compare_pythons([sys.executable] * 2, [], **files, json=False) == 0
    assert compare_pythons([sys.executable] * 2, [], **files, json=False) == 3
    assert "no figure changed, and so nothing is drawn" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.full
def test_one_environment_beside_itself_changes_nothing(capsys, monkeypatch, tmp_path):
    (tmp_path / "bench.yaml").write_text(BENCH)
    monkeypatch.chdir(tmp_path)
    assert compare_pythons([sys.executable] * 2, ["mask"], json=False) == 0
    assert capsys.readouterr().out == "None of 1 compiled cases changed, and no version differs.\n"
