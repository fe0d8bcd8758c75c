"""Error bounds of the contracts by dtype, derived from rounding.

Tolerances are in unit roundoffs u. A half-precision result is rounded about four times, each by at most u
(block means, probabilities, a branch's output, the gated sum), in quadrature 2 u: 2.56 u is allowed. In f32
the sums dominate, and rounding errors of n additions grow like √n u (Higham & Mary 2019): 1e-5 allows chains
of 2^14; kernels add longer rows in blocks. In f64 a bound near 1e-10 would detect a stage computed in f32. A
gradient is the product of three factors, each with this error (probabilities, their cotangents, and keys,
queries or values), and a key head's is the sum of its query heads' rounded gradients: four times as much is
allowed.
"""

BYTES = {"f64": 8, "f32": 4, "bf16": 2, "f16": 2}
FORWARD = {"f64": 1e-10, "f32": 1e-5, "bf16": 2.56 * 2**-8, "f16": 2.56 * 2**-11}
GRADIENT = {dtype: 4 * bound for dtype, bound in FORWARD.items()}
