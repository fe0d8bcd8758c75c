"""torch, eager: its calls, their clocks and counts, and static figures from a trace over fake tensors."""

from harness.catalog.known_frameworks import FrameworkTraits, Package

TRAITS = FrameworkTraits(
    runner="harness.worker.frameworks.torch.framework:Torch",
    packages=(Package("torch", install="'seqsweep[torch]'"),),
    devices=("cpu", "cuda"),
    traces_calls=True,
    host_compiler="torch",
    writes_references=True,
)
