"""`seqsweep static`: figures per target, nothing compiled twice, and an end by Ctrl-C."""

from pathlib import Path

import pytest

from harness.catalog.accelerators import missing_compiler

ROOT = Path(__file__).resolve().parents[2]
PLUGIN = '''
"""One that a worker cannot survive, one that doubles it, and one that remembers what it traced."""
import os
from harness import implementation
from impls.mask.family import MaskWorkload

KEPT = []

@implementation(framework="jax", semantics="exact")
def dies(w: MaskWorkload):
    def mask(topk_indices):
        if w.seq > 256:
            os._exit(7)
        return topk_indices
    return mask

@implementation(framework="jax", semantics="exact")
def forks(w: MaskWorkload):
    os.fork()
    return lambda topk_indices: topk_indices

@implementation(framework="jax", semantics="exact")
def remembers(w: MaskWorkload):
    import jax.numpy as jnp
    def mask(topk_indices):
        if not KEPT:
            KEPT.append(jnp.arange(w.seq) + topk_indices[0, 0, 0])
        return KEPT[0][: w.seq]
    return mask
'''


def statics(said):
    return {
        (record["implementation"], record["seq"], target): (record["status"], figures)
        for record in said.json["records"]
        for target, figures in record["static"].items()
    }


@pytest.fixture
def folder(tmp_path, project):
    (tmp_path / "bench.yaml").write_text((project / "bench.yaml").read_text())
    return tmp_path


HIDDEN = """
from importlib import metadata
version = metadata.version
def without_libtpu(package):
    if package == 'libtpu':
        raise metadata.PackageNotFoundError(package)
    return version(package)
metadata.version = without_libtpu
"""


@pytest.fixture(scope="module")
def twice(seqsweep, project, tmp_path_factory):
    """The same cases two times, then for a TPU as well, where its compiler's module cannot be found."""
    folder = tmp_path_factory.mktemp("static")
    (folder / "bench.yaml").write_text((project / "bench.yaml").read_text())
    (folder / "sitecustomize.py").write_text(HIDDEN)
    words = ("static", "mask", "--seq", "256,512", "--json", "--target")
    first = seqsweep(*words, "host", folder=folder)
    return first, seqsweep(*words, "tpu:v5p,host", folder=folder, PYTHONPATH=str(folder))


def test_the_second_time_nothing_is_compiled_and_nothing_runs(twice):
    assert [said.code for said in twice] == [0, 0]
    work = [said.json["overhead"] for said in twice]
    assert [(overhead["compiled"], overhead["cached"]) for overhead in work] == [(6, 0), (0, 6)]
    first, second = (statics(said) for said in twice)
    assert first.items() <= second.items()
    assert {(record["correctness"], record["timing"]) for record in twice[0].json["records"]} == {
        (None, None)
    }


def test_an_absent_compiler_is_one_sentence_and_the_host_goes_on(twice):
    """As where the extra is not installed."""
    assert twice[1].err.count("libtpu is not installed; pip install -e '.[tpu]'") == 1
    found = statics(twice[1])
    assert found["mask/scatter", 256, "host"][1]["temp_bytes"] > 0
    assert found["mask/scatter", 256, "tpu:v5p"][1]["temp_bytes"] is None


@pytest.mark.full
def test_targets_are_columns_of_one_table(seqsweep, in_process, folder):
    targets = [
        "host",
        *(name for name in ("tpu:v6e", "cuda:h100") if not missing_compiler(name.split(":")[0])),
    ]
    words = ("static", "mask", "--target", ",".join(targets), "--seq", "256", "--json")
    temporary = folder / "tmp"
    temporary.mkdir()
    said = seqsweep(*words, folder=folder, TMPDIR=str(temporary))
    assert said.code == 0
    assert list(temporary.iterdir()) == [], "not even a compiler's log"
    found = statics(said)
    assert {target for _, _, target in found} == set(targets)
    for (_, _, target), (status, figures) in found.items():
        assert status == "ok"
        assert figures["fits"] is True
        assert figures["temp_bytes"] >= 0
        assert figures["program"].startswith("sha256:"), target
    shown = in_process("show", folder=folder)
    assert all(target in shown.out for target in targets)


def test_a_hostile_case_does_not_affect_others(seqsweep, folder):
    target = "host"
    (folder / "hostile.py").write_text(PLUGIN)
    words = ("static", "mask", "--target", target, "--seq", "256,512", "--plugin", "hostile.py", "--json")
    found = statics(seqsweep(*words, folder=folder))
    assert found["mask/dies", 512, target][0] == "crashed"
    assert found["mask/dies", 256, target][0] == "ok"
    assert found["mask/remembers", 512, target][0] == "ok"
    assert found["mask/forks", 256, target][1]["output_bytes"] in {None, 4 * 4 * 32}  # its own, or none
    assert found["mask/scatter", 512, target][0] == "ok"


@pytest.mark.full
def test_two_plugins_do_not_share_their_neighbouring_modules(seqsweep, folder):
    """Each has a module of the same name, which one process could load only once."""
    if missing := missing_compiler("cuda"):
        pytest.skip(missing)
    for name, width in (("one", 1), ("two", 2)):
        (folder / name).mkdir()
        (folder / name / "helper.py").write_text(f"WIDTH = {width}")
        (folder / name / f"{name}.py").write_text(
            "from harness import implementation\n"
            "from impls.mask.family import MaskWorkload\n"
            "import helper\n"
            '@implementation(framework="jax", semantics="exact")\n'
            f"def {name}(w: MaskWorkload):\n"
            f'    """Wide."""\n'
            "    import jax.numpy as jnp\n"
            "    return lambda topk_indices: jnp.concatenate([topk_indices] * helper.WIDTH)\n"
        )
    plugins = ("--plugin", "one/one.py", "--plugin", "two/two.py")
    words = ("static", "mask", "--impl", "one,two", "--seq", "256", "--target", "cuda:a100", "--json")
    found = statics(seqsweep(*words, *plugins, folder=folder))
    sizes = {name: figures["output_bytes"] for (name, _, _), (_, figures) in found.items()}
    assert sizes == {"mask/one": 4 * 4 * 32, "mask/two": 2 * 4 * 4 * 32}


@pytest.mark.full
def test_the_largest_length_that_fits(seqsweep, folder):
    words = ("static", "mask", "--impl", "threshold_raw", "--seq", "64Ki", "--memory", "16MiB")
    said = seqsweep(*words, "--max-seq", "--json", folder=folder)
    (found,) = said.json["largest"]
    assert (found["implementation"], found["target"]) == ("mask/threshold_raw", "host")
    bytes_per_token = 2 * 4 * 4  # scores and mask, 4 rows of f32
    assert found["seq"] * bytes_per_token < 16 * 2**20 < found["beyond"] * bytes_per_token + 2**16
    assert (found["beyond"] - found["seq"]) / found["seq"] <= 1 / 16
    assert "longest length that fits" in seqsweep(*words, "--max-seq", folder=folder).out
