"""The owners of a compiled program, by what its compiler tells of its plan."""

import importlib
from typing import Any

from harness.core.owners import Owners
from harness.xla.hlo import Graph
from harness.xla.owners.assigned import assigned_owners
from harness.xla.owners.buffer_assignment import buffer_assignment
from harness.xla.owners.names import Names, instruction_names


def owners(compiled: Any, module: Any, platform: str, planned_bytes: int) -> Owners:
    """Who owns the `planned_bytes` of a program whose optimised module is `module`, a jaxlib object.

    ValueError where the compiler tells nothing of its plan, or tells it in a form that is not known.
    """
    text = module.to_string(importlib.import_module("jaxlib._hlo").HloPrintOptions())
    names = Names(Graph(text), text)
    proto = compiled.memory_analysis().serialized_buffer_assignment_proto
    return assigned_owners(buffer_assignment(proto), instruction_names(module), names, planned_bytes)
