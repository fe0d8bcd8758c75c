"""The buffers that a case plans more for, from the comparison to every form in which a gate is read."""

import json
from xml.etree.ElementTree import fromstring

import pytest

from harness.core.peak_owners import Owner, Owners
from harness.gate.outcome import STATIC, CaseVerdict
from harness.gate.report.explain import print_explanation
from harness.gate.report.github import annotations, summary
from harness.gate.report.junit import junit
from harness.gate.report.table import gate_data, print_gate
from harness.gate.static.diff import StaticFigures, compare
from tests.records import static_of

MIB = 1 << 20
SCORE = Owner("fusion", "temp", 4 * MIB, "eq", "pred[4194304]", "mask.py:22")
COPY = Owner("copy.1", "temp", 4 * MIB, "copy", "f32[1048576]", "mask.py:24")
CAME = "came: 4 MiB, copy at mask.py:24, f32[1048576]"


def side(*buffers):
    total = sum(buffer.bytes for buffer in buffers)
    owners = Owners(total, 0, 0, buffers, (0, 0))
    return StaticFigures.of(static_of(temp_bytes=total), framework="jax", owners=owners)


@pytest.fixture
def regressed(case_id, outcome):
    found = compare(side(SCORE), side(SCORE, COPY), lambda key: None)
    case = CaseVerdict(case_id("mask/scatter", 1024), found.verdict, found.reason, notes=found.notes)
    return outcome([case], kind=STATIC)


@pytest.mark.parametrize(
    "write",
    [
        summary,
        lambda outcome: "\n".join(annotations(outcome)),
        lambda outcome: fromstring(junit(outcome)).find("testsuite/testcase/failure").text,
        lambda outcome: json.dumps(gate_data(outcome)),
    ],
    ids=["markdown", "annotations", "junit", "json"],
)
def test_the_buffer_that_came_is_named(regressed, write):
    assert CAME in write(regressed).replace("\\", "")


def test_it_is_on_the_terminal_and_explained(regressed, page, evidence):
    flat = " ".join(page(print_gate, regressed, width=160).split())
    assert "came: 4 MiB" in flat
    _, known = evidence(first=(), fresh=(), rounds=(), levels_s=())
    assert CAME in page(print_explanation, (regressed.cases[0], known))
