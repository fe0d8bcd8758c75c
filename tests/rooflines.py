"""A machine whose every ceiling is known before anything is asked of it."""

from harness.analysis.roofline import Readings, Roofline

KI, MI = 1 << 10, 1 << 20
CACHES = {"L1": 64 * KI, "L2": MI}


def readings(kernel, dtype, size, rate):
    return Readings(kernel, dtype, size, tuple(rate * f for f in (0.8, 0.9, 0.9, 0.9, 0.9, 1.0)))


def machine(**compute):
    products = [
        readings("matrix product", kind, 512, rate) for kind, rate in (compute or {"f32": 1e11}).items()
    ]
    streams = [
        readings("copy", "", 32 * KI, 2e10),  # below the larger set's: what calling costs
        readings("sum", "", 512 * KI, 8e10),
        readings("copy", "", 512 * KI, 5e10),
        readings("copy", "", 2 * MI, 3e10),
        readings("copy", "", 16 * MI, 1e10),
    ]
    return Roofline(CACHES, (*products, *streams))
