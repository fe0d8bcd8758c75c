"""numpy on the host. It has no compiler, so most static figures are unavailable."""

import ctypes
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy import copyto  # bound at import, so that an implementation cannot hook refills

from harness.catalog.arrays import Shapes, nbytes
from harness.core.errors import Unsupported
from harness.core.static_figures import STATIC_FIGURES, Static
from harness.worker import array_files
from harness.worker.frameworks.base import FILL, Call, Framework, Function, Names, Prepared, TraceLimits

REASON = "numpy has no compiler; memory.high_water_bytes is measured"


class Numpy(Framework):
    def start(self, device: str, threads: int, *, wide: bool) -> None:  # noqa: ARG002 - always wide
        if device != "cpu":
            raise Unsupported(f"numpy runs on the cpu, not on {device}")
        limit_blas(threads)

    def prepare(
        self, function: Function, names: Names, shapes: Shapes, mode: str, limits: TraceLimits
    ) -> Prepared:
        del limits  # nothing is traced
        if mode != "fwd":
            raise Unsupported(f"numpy has no mode {mode}; use --mode fwd")

        def bind(inputs: Mapping[str, Any], _: Any) -> Call:
            arguments = {name: inputs[name] for name in names}
            return lambda: function(**arguments)

        missing = [name for name in STATIC_FIGURES if name != "argument_bytes"]
        static = Static(
            argument_bytes=nbytes({name: shapes[name] for name in names}),
            unavailable=dict.fromkeys((*missing, "program"), REASON),
        )
        return Prepared(bind, static)

    def put(self, tree: Any) -> Any:
        return array_files.map_leaves(tree, np.array)

    def refill(self, target: Any, source: Any) -> Any:
        for mine, theirs in zip(array_files.leaves(target), array_files.leaves(source), strict=True):
            copyto(mine, theirs)
        return target

    def get(self, tree: Any) -> Any:
        array_files.expect_arrays(tree, (np.ndarray, *np.sctypeDict.values()), "numpy arrays")
        return array_files.map_leaves(tree, np.asarray)

    def sync(self, result: Any) -> None:
        """A no-op: numpy calls are synchronous."""

    def overwrite(self, result: Any, inputs: Any) -> None:
        theirs = array_files.leaves(inputs)
        for leaf in array_files.leaves(result):
            if type(leaf) is not np.ndarray or leaf.dtype.kind not in "biufc" or not leaf.flags.writeable:
                continue
            if not any(np.may_share_memory(leaf, each) for each in theirs):
                leaf.fill(FILL)


def limit_blas(threads: int) -> None:
    """Set the threads of numpy's OpenBLAS, which was loaded before this process was pinned."""
    lines = Path("/proc/self/maps").read_text().splitlines()
    for path in {line[line.index("/") :] for line in lines if "openblas" in line}:
        library = ctypes.CDLL(path)
        for name in ("scipy_openblas_set_num_threads64_", "openblas_set_num_threads"):
            if hasattr(library, name):
                getattr(library, name)(threads)
