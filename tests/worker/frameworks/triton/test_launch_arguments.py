"""A launch as it is typed: what each word is taken for, and what is refused."""

import pytest

from harness.core.errors import UsageError
from harness.worker.frameworks.triton.launch_arguments import (
    DtypeArgument,
    TensorArgument,
    parse_arguments,
    parse_grid,
)


def test_a_word_is_what_it_looks_like():
    text = (
        "x=f32[64Ki, 128], one=float8_e5m2[], n=64Ki, m=-3, s=1.0, e=1e-6, "
        "yes=True, no=false, nothing=none, act='relu', kind=bf16"
    )
    values = parse_arguments(text)
    assert values == {
        "x": TensorArgument("f32", (65536, 128)), "one": TensorArgument("float8_e5m2", ()),
        "n": 65536, "m": -3, "s": 1.0, "e": 1e-6, "yes": True, "no": False, "nothing": None, "act": "relu",
        "kind": DtypeArgument("bf16"),
    }  # fmt: skip
    assert isinstance(values["s"], float)
    assert parse_arguments("") == {}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x", '"x" is no NAME=VALUE; write them as in --args'),
        ("x=", '"x=" is no NAME=VALUE'),
        ("a b=1", '"a b=1" is no NAME=VALUE'),
        ("n=1, n=2", "n is given twice; leave one out"),
        ("n=64k", 'n: "64k" may mean either: write 64Ki for 65536'),
        ("x=f32[1.5]", 'x: "1.5" is not a whole number'),
    ],
)
def test_what_is_no_argument_is_refused(text, said):
    with pytest.raises(UsageError, match=r"^--args: ") as refused:
        parse_arguments(text)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        ("64", (64,)),
        ("1Ki, 2, 3", (1024, 2, 3)),
        ("n/BLOCK", (4,)),
        ("n/BLOCK/2", (2,)),
        ("n / BLOCK * heads, heads", (32, 8)),
    ],
)
def test_a_grid_counts_blocks_and_rounds_up(text, blocks):
    assert parse_grid(text)({"n": 1000, "BLOCK": 256, "heads": 8}) == blocks


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "has 0 axes, and a grid 1 to 3"),
        ("1,2,3,4", "has 4 axes"),
        ("m/BLOCK", '"m" is neither a number nor an argument that is one'),
        ("x", '"x" is neither a number'),
        ("n/0", '"n/0" divides by 0'),
        ("n*0", '"n*0" is 0 blocks; a grid has one at least'),
    ],
)
def test_what_is_no_grid_is_refused(text, said):
    with pytest.raises(UsageError, match=r"^--grid: ") as refused:
        parse_grid(text)({"n": 1000, "BLOCK": 256, "x": object()})
    assert said in str(refused.value)
