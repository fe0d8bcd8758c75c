"""Pallas kernels in an optimised module: the hash of each body, and the VMEM that it was given.

A kernel is a custom call with its body, MLIR in base64, in the backend's configuration, where libtpu (0.0.52)
notes the memory, too. XLA's own hash of a module leaves both out.
"""

import base64
import importlib
import re
from collections.abc import Iterator
from hashlib import sha256
from typing import NamedTuple

from harness.xla.hlo import Graph

TARGET = "tpu_custom_call"
BODY = re.compile(r'"body": ?"([^"]+)"')
GIVEN = re.compile(r'"used_scoped_memory_configs":\[([^\]]*)\]')
VMEM = re.compile(r'"memory_space":"1","offset":"\d+","size":"(\d+)"')  # memories have numbers


class MosaicKernel(NamedTuple):
    program: str
    vmem_bytes: int | None


def mosaic_kernels(graph: Graph) -> Iterator[MosaicKernel]:
    """Those of a module, in its order; libtpu's own fusions, which have no body, are none."""
    for instruction in graph.instructions:
        body = BODY.search(instruction.attributes)
        if instruction.target == TARGET and body:
            given = GIVEN.search(instruction.attributes)
            sizes = VMEM.findall(given[1]) if given else []
            yield MosaicKernel(body_hash(body[1]), sum(map(int, sizes)) if sizes else None)


def body_hash(body: str) -> str:
    """`sha256:…` of a kernel's body without the places in its source."""
    ir = importlib.import_module("jaxlib.mlir.ir")
    dialect = importlib.import_module("jax.experimental.mosaic.dialects").tpu
    # Its context has the dialects that bodies are written in, which a body in words, not bytecode, needs.
    with importlib.import_module("jax.interpreters.mlir").make_ir_context() as context:
        context.allow_unregistered_dialects = True
        dialect.register_dialect(context)
        text = ir.Module.parse(base64.b64decode(body)).operation.get_asm(enable_debug_info=False)
    return f"sha256:{sha256(text.encode()).hexdigest()}"
