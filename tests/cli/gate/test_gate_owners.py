"""A planted copy of T × T, and the buffer of it named by the gate in every form, end to end."""

import xml.etree.ElementTree as ET

import pytest

pytestmark = [pytest.mark.jax, pytest.mark.full]

BENCH = """\
plugins: [kernels.py]
suites:
  points: {family: points, seq: 256, impls: [pairs]}
"""
PLANTED = """\
import jax.numpy as jnp

def double(x):
    return (x[:, None] * jnp.eye(w.seq)) @ jnp.full(w.seq, 2.0)

return double"""


@pytest.fixture(scope="module")
def planted(repositories, plugin_of):
    made = repositories("owners")
    before = plugin_of(pairs=("jax", "return lambda x: x + x"))
    made.commit({"bench.yaml": BENCH, "kernels.py": before, ".gitignore": "results/\n"}, "before")
    made.write({"kernels.py": plugin_of(pairs=("jax", PLANTED))})
    return made


def test_the_copy_is_named_by_its_line_wherever_the_gate_is_read(gate, planted, tmp_path):
    lines = (planted.folder / "kernels.py").read_text().splitlines()
    line = next(number for number, text in enumerate(lines, 1) if "x[:, None]" in text)
    github = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md")}
    report = tmp_path / "gate.xml"
    said = gate(planted, "--static", "--against", "git:HEAD", "--json", "--junit", str(report), **github)
    assert said.code == 1
    (case,) = said.json["cases"]
    named = f"came: 256 KiB, mul at kernels.py:{line}, f32[256,256]"
    assert named in case["reason"]
    assert named in ET.parse(report).getroot().find("testsuite/testcase/failure").text
    assert named in (tmp_path / "summary.md").read_text().replace("\\", "")
    assert named in said.err.replace("%0A", "\n"), "the annotation at the line"


def test_a_peak_is_compared_with_a_commit(seqsweep, environment, planted):
    words = ["points/pairs", "--owners", "--against", "git:HEAD", "--json"]
    said = seqsweep("static", *words, folder=planted.folder, **environment)
    (now,), base = said.json["records"], said.json["base"]
    (changes,) = base["changes"]
    assert (said.code, changes["verdict"]) == (1, "regressed")
    assert [case["case"] for case in changes["cases"]] == [now["case"]]
    assert base["name"].startswith("git:")
    assert [(each["case"], each["temp_bytes"]) for each in base["figures"]] == [(now["case"], 0)]
    largest = now["static"]["host"]["owners"]["owners"][0]
    assert (largest["bytes"], largest["operator"]) == (256 << 10, "mul")
