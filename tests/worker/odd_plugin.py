"""An implementation with a return value that its option selects.

`OUTCOMES` has the expected status of each option and a part of its reason.
"""

from harness import implementation
from impls.topk.family import TopkWorkload

OUTCOMES = {
    "none": ("crashed", "the callable returned None; return numpy arrays"),
    "half": ("crashed", "the callable returned None in [1] of its result; return numpy arrays"),
    "ragged": ("crashed", "the callable returned int in [0][0] of its result"),
    "named": ("crashed", 'the callable returned str in ["note"] of its result'),
    "lazy": ("crashed", "the callable returned Lazy; return numpy arrays"),
    "thorny": ("crashed", "RuntimeError: do not touch"),
    "objects": ("crashed", "dtype object is not numeric"),
    "crumbs": ("crashed", "more than 1000 parts"),
    "circle": ("crashed", "RecursionError"),
    "swapped_bytes": ("ok", ""),
}


class Lazy:
    """Would compute its values when they are checked, not when they are timed."""

    def __array__(self, *_, **__):
        raise AssertionError("never asked")


class Thorny:
    @property
    def __class__(self):
        raise RuntimeError("do not touch")

    def __getattr__(self, name):
        raise RuntimeError("do not touch")


@implementation(framework="numpy", semantics="exact")
def returns(w: TopkWorkload, *, what: str = "none"):
    import numpy as np

    def result(scores):
        indices = np.argsort(-scores, axis=-1, kind="stable")[..., : w.topk]
        values = np.take_along_axis(scores, indices, -1)
        circle = []
        circle.append(circle)
        odd = {
            "none": lambda: None,
            "half": lambda: (values, None),
            "ragged": lambda: [[1, 2, 3], [4]],
            "named": lambda: {"values": values, "note": "the largest"},
            "lazy": Lazy,
            "thorny": Thorny,
            "objects": lambda: (values, np.array([None])),
            "crumbs": lambda: [values] * 2000,
            "circle": lambda: circle,
            "swapped_bytes": lambda: (values.astype(">f4"), indices.astype(">i8")),
        }
        return odd[what]()

    return result
