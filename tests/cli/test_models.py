"""Presets on the command line: listed, derived, planned and measured."""

PLUGIN = '''\
"""A family of one's own that says what it computes of a model."""
from dataclasses import dataclass

from seqsweep import Array, Family, ModelWorkload, Semantics, Unsupported, axis, exact, implementation


@dataclass(frozen=True)
class TwiceWorkload:
    seq: int = axis()
    heads: int = axis(1)


def of_model(model, phase):
    if phase.name != "prefill":
        raise Unsupported("twice is of prefills")
    return ModelWorkload({"heads": model.fields["num_attention_heads"]}, model.layers, ("heads",))


FAMILY = Family(
    name="twice",
    question="How is a number doubled?",
    workload=TwiceWorkload,
    shapes=lambda w: {"x": Array((w.heads, w.seq), "f32")},
    inputs=lambda w, rng: {"x": rng.standard_normal((w.heads, w.seq), dtype="f4")},
    semantics={"exact": Semantics("exact", lambda w, rows: lambda x: x * 2, exact())},
    of_model=of_model,
)


@implementation(framework="numpy", semantics="exact")
def added(w: TwiceWorkload):
    return lambda x: x + x
'''


def test_a_model_is_measured_with_its_source_in_the_run(in_process, tmp_path):
    words = ("run", "mask", "--model", "deepseek-v3.2,glm-5.2", "--phase", "decode", "--seq", "4Ki")
    said = in_process(*words, "--impl", "broadcast,scatter", "--results", tmp_path)
    assert said.code == 0
    shown = " ".join(said.out.split())
    assert "mask: deepseek-v3.2 (decode); glm-5.2 (decode): batch=1" in shown
    assert "per step of glm-5.2 (decode) at 4Ki on this machine" in shown
    assert "(21 layers)" in shown
    (run,) = (tmp_path / "runs").glob("*/run.json")
    assert '"sha256":"c7fa8b191e9936d8e6a57d864baab82b792fae16a116416cdd3a75ba76bc5af1"' in (
        run.read_text().replace(": ", ":")
    )


def test_a_plugins_family_derives_in_a_separate_process(in_process, tmp_path):
    file = tmp_path / "twice.py"
    file.write_text(PLUGIN)
    words = ("run", "--family", "twice", "--plugin", file, "--seq", "8", "--model", "kimi-k2", "--dry-run")
    (suite,) = in_process(*words, "--tp", "4", "--json").json["suites"]
    assert suite["cases"] == ["twice/added@heads=16,seq=8:fwd:cpu"]
    assert "twice is of prefills" in in_process(*words, "--phase", "decode").err
