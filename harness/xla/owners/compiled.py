"""Owners of a compiled program's peak, by its buffer assignment or libtpu's memory report."""

from typing import Any

from harness.core.peak_owners import Owners
from harness.xla.hlo import Graph
from harness.xla.jaxlib_hlo import jaxlib_hlo
from harness.xla.owners.assigned import assigned_owners
from harness.xla.owners.buffer_assignment import buffer_assignment
from harness.xla.owners.executable import gpu_assignment, tpu_temporaries
from harness.xla.owners.names import Names, instruction_names
from harness.xla.owners.reported import reported_owners


def owners(compiled: Any, module: Any, platform: str, planned_bytes: int) -> Owners:
    """The owners of the `planned_bytes` of a program whose optimised module is `module`, a jaxlib object.

    ValueError where the compiler provides no plan, or in an unknown form.
    """
    text = module.to_string(jaxlib_hlo().HloPrintOptions())
    names = Names(Graph(text), text)
    if platform == "tpu":
        report = tpu_temporaries(compiled.runtime_executable().serialize())
        return reported_owners(report, names, planned_bytes)
    proto = compiled.memory_analysis().serialized_buffer_assignment_proto
    proto = proto or gpu_assignment(compiled.runtime_executable().serialize())
    return assigned_owners(buffer_assignment(proto), instruction_names(module), names, planned_bytes)
