"""Implementations that print, and then crash each in its own way."""

import os

from harness import implementation
from impls.topk.family import TopkWorkload


@implementation(framework="numpy", semantics="exact")
def raises_aloud(w: TopkWorkload):
    def topk(scores):
        print("about to raise", scores.shape)
        try:
            raise KeyError("the cause")
        except KeyError as cause:
            raise ValueError("the effect") from cause

    return topk


@implementation(framework="numpy", semantics="exact")
def leaves_aloud(w: TopkWorkload):
    def topk(scores):
        print("about to leave")
        os._exit(3)

    return topk
