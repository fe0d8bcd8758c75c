"""Whether this process has initialised CUDA, asked without initialising it."""

import ctypes
from pathlib import Path

LIBRARY = "libcuda.so.1"
NOT_INITIALIZED = 3  # CUDA_ERROR_NOT_INITIALIZED, of every driver call before cuInit


def has_called_cu_init() -> bool:
    """Whether `cuInit` was called here. A process forked after that can never use CUDA.

    `cuCtxGetCurrent` needs no context and initialises nothing (CUDA Driver API, 5.8 Context Management).
    """
    if LIBRARY not in Path("/proc/self/maps").read_text(errors="replace"):
        return False
    get_current = getattr(ctypes.CDLL(LIBRARY), "cuCtxGetCurrent", None)
    return get_current is not None and get_current(ctypes.byref(ctypes.c_void_p())) != NOT_INITIALIZED
