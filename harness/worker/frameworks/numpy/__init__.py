"""numpy on the host."""

from harness.catalog.known_frameworks import FrameworkTraits, Package

TRAITS = FrameworkTraits(
    runner="harness.worker.frameworks.numpy.framework:Numpy",
    packages=(Package("numpy"), Package("ml_dtypes")),
    devices=("cpu",),
    writes_references=True,
)
