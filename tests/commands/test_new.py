"""`seqsweep new`: the templates pass their checks, and no file is overwritten."""

import json
import os
import re
import shlex
from importlib.util import find_spec

import pytest

from harness.catalog.accelerators import missing_compiler
from harness.commands.app import app
from harness.commands.exit_codes import call_app
from tests.cli.forked import ROOT, call_forked

FAMILIES = sorted(file.parent.name for file in ROOT.glob("impls/*/family.py"))
SMALL = {"mask": "--set rows=4 --seq 4Ki", "topk": "--set rows=4 --seq 4Ki", "offsets": "--seq 1Ki"}
FIRST = "--quick --seq 64 --mode fwd,bwd,fwd_bwd"


@pytest.fixture
def new(tmp_path, monkeypatch, capsys):
    """`seqsweep new` in an empty folder: (exit code, standard output, standard error)."""
    monkeypatch.chdir(tmp_path)

    def call(*words):
        return call_app(app, ["new", *words]), *capsys.readouterr()

    return call


def type_in(folder, command, code=0):
    """The records of a command that `new` printed as the next one."""
    program, *words = shlex.split(command)
    assert program == "seqsweep"
    ended, out, err = call_forked(folder, [*words, "--json"], {**os.environ, "TMPDIR": str(folder)})
    assert ended == code, err
    return json.loads(out)["records"]


@pytest.mark.parametrize(
    "family", [name if name == "offsets" else pytest.param(name, marks=pytest.mark.full) for name in FAMILIES]
)
def test_the_template_of_an_implementation_passes(new, tmp_path, family):
    code, out, _ = new(family, "my_own", "--json")
    assert code == 0
    check, _ = json.loads(out)["next"]
    assert check == f"seqsweep check {family}/my_own --plugin my_own.py"
    records = type_in(tmp_path, f"{check} {SMALL.get(family, FIRST)}")
    assert {record["implementation"] for record in records} == {f"{family}/my_own"}
    assert all(record["correctness"]["passed"] for record in records)
    assert any(record["checks"] for record in records)


TRITON = pytest.mark.skipif(find_spec("triton") is None, reason="the extra triton is not installed")


@pytest.mark.long
@pytest.mark.parametrize("framework", [pytest.param("triton", marks=TRITON), "pallas"])
@pytest.mark.parametrize("family", FAMILIES)
def test_the_template_of_a_kernel_passes(new, tmp_path, family, framework):
    """In the interpreter, at a length that no block divides; Pallas is planned for TPUs where libtpu is."""
    code, out, _ = new(family, "my_own", "--framework", framework, "--json")
    assert code == 0
    check, _ = json.loads(out)["next"]
    few = "--set rows=2 --set topk=20" if family in {"mask", "topk"} else "--mode fwd"
    records = type_in(tmp_path, f"{check} {few} --quick --seq 77")
    assert {record["implementation"] for record in records} == {f"{family}/my_own"}
    assert all(record["correctness"]["passed"] for record in records)
    assert any(record["checks"] for record in records)
    if framework == "pallas" and missing_compiler("tpu") is None:
        few += " --set dtype=bf16" if family == "mla" else ""  # libtpu takes minutes for f32 products of v6e
        words = f"--plugin my_own.py {few} --seq 1000 --target tpu:v5p,tpu:v6e"
        for record in type_in(tmp_path, f"seqsweep static {family}/my_own {words}"):
            for target in ("tpu:v5p", "tpu:v6e"):
                (kernel,) = record["static"][target]["tpu_kernels"]
                assert kernel["vmem_bytes"] < kernel["vmem_limit_bytes"], (record["case"], kernel)


def test_a_framework_without_a_template_gets_the_skeleton(new, tmp_path):
    code, _, said = new("offsets", "of_offsets", "--framework", "jax")
    assert (code, said) == (0, "offsets has no template in jax, so the file is only a skeleton\n")
    assert new("mask", "in_numpy", "--framework", "numpy")[0] == 0
    assert 'framework="numpy"' in (tmp_path / "in_numpy.py").read_text()
    assert new("mask", "in_jax", "--framework", "jax")[0] == 0
    assert "jnp.full" in (tmp_path / "in_jax.py").read_text()


def test_the_template_of_a_family_passes_and_gets_a_skeleton_with_its_inputs(new, tmp_path):
    """Checked with one command, that of the skeleton, which includes the family."""
    code, out, _ = new("--family", "sums", "--json")
    words = "--plugin sums.py --seq 1Ki,4Ki"
    assert (code, json.loads(out)["next"][0]) == (0, f"seqsweep check sums {words}")
    code, out, said = new("sums", "mine", "--plugin", "sums.py", "--out", "deep/er")
    assert (code, out.splitlines()[:1]) == (0, ["wrote deep/er/mine.py"]), said
    text = (tmp_path / "deep/er/mine.py").read_text()
    assert "def answer(x):" in text
    check = re.search(r"next: (seqsweep check sums/mine .*)", out)
    assert check is not None
    records = type_in(tmp_path, check[1].replace("sums/mine", "sums") + " --seq 1Ki,4Ki")
    status = {(record["implementation"], record["seq"]): record["status"] for record in records}
    assert status == {
        (f"sums/{name}", seq): "unsupported" if name == "mine" else "ok"
        for seq in (1024, 4096)
        for name in ("by_matrix", "by_scan", "mine")
    }
    (reason,) = {record["reason"] for record in records if record["status"] == "unsupported"}
    assert "mine is not written yet; return the result here" in reason


def test_the_docs_quote_the_templates(new, tmp_path):
    new("mask", "my_scatter")
    new("--family", "sums")
    assert (tmp_path / "my_scatter.py").read_text() in (ROOT / "README.md").read_text()
    assert (tmp_path / "sums.py").read_text() in (ROOT / "docs/plugins.md").read_text()
    assert len((tmp_path / "sums.py").read_text().splitlines()) <= 45
