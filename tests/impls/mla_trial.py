"""Trials of mla implementations like the harness's, without its processes."""

from functools import partial
from inspect import getclosurevars

from impls.mla.family import FAMILY, Config
from tests.impls import judgements

CHECKS = {check.name: check for check in FAMILY.checks}
NARROW = {
    "small": Config(dim=96, heads=4, q_lora=0, kv_lora=32, nope=16, rope=8, v=24),
    "v3": Config(dim=80, heads=6, q_lora=40, kv_lora=32, nope=16, rope=8, v=24),
}
UNEVEN = {  # no width is a multiple of 128, and most need two blocks
    "small": Config(dim=160, heads=4, q_lora=0, kv_lora=136, nope=20, rope=8, v=36),
    "v3": Config(dim=132, heads=6, q_lora=140, kv_lora=132, nope=16, rope=8, v=24),
}


def attend_of(made):
    """The code with which a callable of one phase attends: equal if two implementations are the same."""
    return getclosurevars(made).nonlocals["attend"].__code__


drawn = partial(judgements.drawn, FAMILY)
trial = partial(judgements.trial, FAMILY)
