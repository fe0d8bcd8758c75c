"""The corners at which every Triton kernel must compile: workloads, options and modes.

The interpreter broadcasts where the compiler refuses, and a default hides it: 64 heads on tiles of 64 keys.
So all registered kernels are put to narrow, wide and odd sizes, and the ones that `seqsweep new` writes, too.
"""

import re
from pathlib import Path
from string import Template
from typing import NamedTuple

from harness.catalog import discovery
from harness.core.case import Case

ROOT = Path(__file__).resolve().parents[1]

Axis = list[dict]  # the values of one field, or of several that go together; the first is the ordinary one


class Corner(NamedTuple):
    """A case and where it is registered: a module, or a file."""

    module: str
    case: Case


def each(name, *values):
    """The axis of one field."""
    return [{name: value} for value in values]


DTYPES = each("dtype", "bf16", "f32", "f16")
ALL_DTYPES = [*DTYPES, {"dtype": "f64"}]
HEADS = [
    {"heads": heads, "kv_heads": shared} for heads, shared in ((8, 2), (1, 1), (16, 1), (64, 64), (64, 1))
]
WIDTHS = each("head_dim", 64, 72, 96, 128, 192, 256)
ATTENTION = [HEADS, WIDTHS]
BLOCKS = [{"block": block, "seq": seq} for block, seq in ((64, 4096), (16, 1008), (128, 4096), (24, 984))]
SELECTION = [*ATTENTION, DTYPES, BLOCKS, each("selected", 16, 3)]
SPARSE = [*SELECTION, each("window", 512, 21), each("gated", True, False)]  # packed lengths are in no trace
MLA = [
    ALL_DTYPES,
    each("heads", 16, 1, 8, 64, 24),
    [
        {"nope": nope, "rope": rope, "v": v}
        for nope, rope, v in ((128, 64, 128), (72, 24, 96), (192, 64, 256))
    ],
    each("kv_lora_rank", 512, 16, 64, 256),
    each("weights", "plain", "fp8_block"),
    each("seq", 4096, 1000),
]
ROWS = [ALL_DTYPES, each("topk", 2048, 1, 100), each("seq", 65536, 5000)]
AXES = {  # by semantics, or by family
    "dense": [*ATTENTION, ALL_DTYPES, each("seq", 4096, 1000), each("causal", True, False)],
    "compress": [*ATTENTION, DTYPES, BLOCKS],
    "select": [*SELECTION, each("tile", 256, 48)],
    "given_blocks": SELECTION,
    "dsa": [
        *ATTENTION,
        DTYPES,
        each("seq", 4096, 1000),
        each("indexer_heads", 64, 1, 8, 16),
        each("indexer_dim", 128, 64, 72),
        each("topk", 256, 13, 2048),
    ],
    "nsa_mslk": [*SPARSE, each("tile", 256, 48)],
    "nsa_paper": [*SPARSE, [{}, {"kernel": 16, "stride": 16, "block": 64, "seq": 1000}]],
    "nsa_fla": SPARSE,
    "mla": MLA,
    "mask": ROWS,
    "topk": ROWS,
    "offsets": [
        each("kind", "causal", "bottom_right", "padding", "sliding"),
        each("layout", "self", "cross", "absent", "intra_padding", "striped"),
        each("max_segments", 16, 1, 300),
        each("seq", 4096, 1000),
    ],
}
NEEDS = {  # what an implementation does not do without
    "triton_compress": {"stage": "compress"},
    "triton_select": {"stage": "select"},
    "triton_given_blocks": {"stage": "given_blocks", "gated": False},
    "triton_given_blocks_flex": {"stage": "given_blocks", "gated": False},
    "triton_dsa": {"gated": False},
    "triton_decode": {"phase": "decode"},
    "triton_paged_decode": {"phase": "decode", "page": 64},
}
DIFFERENTIATED = re.compile("triton_(flash|dsa|nsa.*|given_blocks|compress)")  # the others refuse a backward
OPTIONS = {"columns": (16384, 4096)}  # of options that are numbers; of the others all values are known


def registered(folder):
    """The catalog's entries of every kernel here, and of those that `new` writes, into `folder`."""
    catalog = discovery.builtin()
    infos = [info for info in catalog.implementations.values() if info.framework == "triton"]
    for template in sorted(ROOT.glob("impls/*/triton.template")):
        name = f"new_{template.parent.name}"
        file = Path(folder, f"{name}.py")
        file.write_text(Template(template.read_text()).substitute(title=name, name=name))
        infos += discovery.plugin(str(file)).implementations.values()
    return infos


def axes_of(info):
    """The axes of an implementation: its workload's, its options', and its modes."""
    options = [each(option.name, *_values(option)) for option in info.options]
    modes = ("fwd_bwd", "fwd", "bwd") if DIFFERENTIATED.fullmatch(info.name) else ("fwd",)
    if info.name == "triton_nsa_fla":  # its backward's kernels are those of triton_nsa_paper
        modes = ("fwd", "fwd_bwd", "bwd")
    return [
        *AXES.get("mla" if info.family == "mla" else info.semantics, AXES.get(info.family)),
        *options,
        each("mode", *modes),
    ]


def _values(option):
    if option.name in OPTIONS:
        return OPTIONS[option.name]
    return (option.default, *(value for value in option.choices or (True, False) if value != option.default))


def corners(folder, *, each_value=False):
    """Every kernel's ordinary corner, or as many as show each value of each axis."""
    return [
        Corner(info.module, _case(info, values))
        for info in registered(folder)
        for values in cover(axes_of(info))[: None if each_value else 1]
    ]


def _case(info, values):
    words = {**NEEDS.get(info.name, {}), **values}
    options = {option.name: words.pop(option.name) for option in info.options}
    return Case.of(info.id, options, words, words.pop("mode"), "cuda")


def cover(axes):
    """Rows of a value per axis, in which each value stands; the first row is ordinary."""
    return [
        {name: value for axis in axes for name, value in axis[row % len(axis)].items()}
        for row in range(max(map(len, axes)))
    ]
