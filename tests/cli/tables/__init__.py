"""Tables of numbers, a framework that a package would register: what every command reads of it."""

from seqsweep import FrameworkTraits, Package

TRAITS = FrameworkTraits(
    runner="tables.framework:Tables",
    packages=(Package("tables-for-seqsweep"),),
    compiles_calls=True,
    host_compiler="tables-for-seqsweep",
    writes_references=True,
)
