"""Pallas TPU kernels in an optimised module: the hash of each body, and its VMEM.

A kernel is a custom call whose backend configuration holds the body, MLIR in base64, and since libtpu 0.0.52
its memory. XLA's own hash of a module covers neither.
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
SCOPED = re.compile(r'"used_scoped_memory_configs":\[([^\]]*)\]')
VMEM = re.compile(r'"memory_space":"1","offset":"\d+","size":"(\d+)"')  # memory space 1


class MosaicKernel(NamedTuple):
    program: str
    vmem_bytes: int | None


def mosaic_kernels(graph: Graph) -> Iterator[MosaicKernel]:
    """The kernels of a module in order; not libtpu's own fusions, which have no body."""
    for instruction in graph.instructions:
        body = BODY.search(instruction.attributes)
        if instruction.target == TARGET and body:
            memory = SCOPED.search(instruction.attributes)
            sizes = VMEM.findall(memory[1]) if memory else []
            yield MosaicKernel(body_hash(body[1]), sum(map(int, sizes)) if sizes else None)


def body_hash(body: str) -> str:
    """`sha256:…` of a kernel's body without its source locations."""
    ir = importlib.import_module("jaxlib.mlir.ir")
    dialect = importlib.import_module("jax.experimental.mosaic.dialects").tpu
    # jax's context has the dialects of kernel bodies, which a textual body (not bytecode) needs.
    with importlib.import_module("jax.interpreters.mlir").make_ir_context() as context:
        context.allow_unregistered_dialects = True
        dialect.register_dialect(context)
        text = ir.Module.parse(base64.b64decode(body)).operation.get_asm(enable_debug_info=False)
    return f"sha256:{sha256(text.encode()).hexdigest()}"
