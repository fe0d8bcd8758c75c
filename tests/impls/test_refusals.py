"""What families and implementations refuse, with the remedy in the reason."""

from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import yaml

from harness import Unsupported
from harness.catalog.discovery import builtin
from impls.attention.workload import STAGES
from tests.impls.judgements import drawn
from tests.impls.torch_case import gradients, run
from tests.impls.variants import ATTENTION, FAMILIES, TOPK, labelled, parsed

pytestmark = [pytest.mark.jax, pytest.mark.torch]
REFUSALS = [
    pytest.param(family, *row[:3], row[3] if row[3:] else "", id=f"{family}/{row[0]}-{row[2]}")
    for family, rows in yaml.safe_load(Path(__file__).with_name("refusals.yaml").read_text()).items()
    for row in rows
]
SIZES = [
    (info, option.name)
    for info in builtin().implementations.values()
    for option in info.options
    if option.kind == "int"
]


def pull(build, family, w):
    inputs = drawn(family, w)
    gradients(
        build(w), inputs, np.ones(next(iter(inputs.values())).shape)
    )  # as long as the queries, or a token


CALLS = {
    "": lambda build, family, w: build(w),
    "forward": lambda build, family, w: run(build(w), drawn(family, w)),
    "backward": pull,
}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch's own, on its first compile
@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize(("name", "label", "fields", "says", "called"), REFUSALS)
def test_what_is_refused(name, label, fields, says, called):
    if label.startswith("triton_") and find_spec("triton") is None:
        pytest.skip("the extra triton is not installed")
    if called and label.startswith("nsa_mslk_tiles"):
        pytest.importorskip("numba")
    family, w = FAMILIES[name], parsed(name, fields)
    if label == "<shapes>":
        build = family.shapes
    elif label.startswith("<"):
        meaning = label.strip("<>")
        build = partial(family.shapes_of, meaning)
        if called:
            build = partial(family.semantics[meaning].reference, rows=None)
    else:
        variant, options = labelled(name, label)
        build = partial(variant, **options)
    with pytest.raises(Unsupported, match=says):
        CALLS[called](build, family, w)


@pytest.mark.parametrize(("info", "option"), SIZES, ids=[f"{info.id}-{option}" for info, option in SIZES])
def test_a_size_of_nothing_is_refused(info, option):
    family, _, name = info.id.partition("/")
    fields = {"topk": {"topk": 16}, "offsets": {"head_dim": 8}}.get(family, {})
    stage = {"stage": "given_blocks"} if info.semantics == "given_blocks" else {}
    with pytest.raises(Unsupported, match=r"\b0\b.*; use"):
        labelled(family, name)[0](parsed(family, {"seq": 4096, **fields, **stage}), **{option: 0})


@pytest.mark.parametrize("variant", vars(ATTENTION).values(), ids=lambda variant: variant.name)
def test_an_implementation_of_attention_and_its_reference_refuse_the_other_stages(variant):
    meaning = variant.semantics.removeprefix("nsa_paper_")
    own = meaning if meaning in STAGES else "attention"
    kernels = {"heads": 32, "kv_heads": 2, "dtype": "bf16", "gated": False, "indexer_heads": 8}
    packed = {"varlen": variant.name == "nsa_mslk_padded"}
    for stage in sorted({*STAGES} - {own}):
        w = parsed("attention", {"seq": 512, "stage": stage, **packed, **kernels})
        for build in (variant, FAMILIES["attention"].semantics[variant.semantics].refuse):
            with pytest.raises(Unsupported, match=f"stage={stage}: this .*; use stage={own}"):
                build(w)


@pytest.mark.parametrize("variant", vars(TOPK).values(), ids=lambda variant: variant.name)
def test_an_implementation_of_topk_has_the_shapes_of_only_its_own_stage(variant):
    """Selection from given scores refuses an indexer's inputs, and the other way round."""
    first, family = variant.name.split("_")[0], FAMILIES["topk"]
    own = first if first in {"indexer", "attention"} else "select"
    for stage in ("select", "indexer", "attention"):
        w = parsed("topk", {"stage": stage, "seq": 4096})
        if stage == own:
            assert family.shapes_of(variant.semantics, w) == family.shapes(w)
        else:
            with pytest.raises(Unsupported, match=f"use stage={own}"):
                family.shapes_of(variant.semantics, w)
