"""An optimised module as a graph: computations and their instructions, read from XLA's text of it.

jaxlib gives instructions no operands' shapes, called computations or attributes; the text has them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from harness.xla.jaxlib_hlo import jaxlib_hlo

COMPUTATION = re.compile(r"(ENTRY )?%(\S+) .*\{$")
INSTRUCTION = re.compile(r"\s+(ROOT )?%(\S+) = (.+?) ([a-z][a-z0-9-]*)\(([^)]*)\)(.*)$")
OPERAND = re.compile(r"%([\w.\-]+)")
CALLED = re.compile(
    r"(?<=[ ,])(condition|body|to_apply|calls|true_computation|false_computation|branch_computations"
    r"|called_computations)=(\{[^}]*\}|%[\w.\-]+)"
)
STARTS = ("async-start", "call-start")  # an asynchronous call of a computation, under either name


@dataclass(frozen=True)
class Instruction:
    """One operation. `shape` is its result's; `argument` is the text between its parentheses."""

    name: str
    shape: str
    opcode: str
    argument: str
    attributes: str

    @property
    def operands(self) -> list[str]:
        return OPERAND.findall(self.argument)

    @property
    def called(self) -> dict[str, list[str]]:
        """Names of computations by the role they have here, such as `body`."""
        if "=%" not in self.attributes and "={%" not in self.attributes:
            return {}
        return {role: OPERAND.findall(names) for role, names in CALLED.findall(self.attributes)}

    @property
    def callees(self) -> list[str]:
        """The computations that it names in any role."""
        return [name for names in self.called.values() for name in names]

    @property
    def branches(self) -> list[str]:
        """The computations of a conditional, in the order of its operands after the first."""
        called = self.called
        roles = ("true_computation", "false_computation", "branch_computations")
        return [name for role in roles for name in called.get(role, ())]

    @property
    def target(self) -> str | None:
        """The function that a custom call calls; None for any other instruction."""
        match = re.search(r'custom_call_target="([^"]+)"', self.attributes)
        return match[1] if match and self.opcode in {"custom-call", "custom-call-start"} else None


@dataclass(frozen=True)
class Computation:
    name: str
    lines: tuple[str, ...]
    instructions: dict[str, Instruction]
    root: str


class Graph:
    """The computations of a module by name, and the one it begins with.

    ValueError: the text has a form that this reader does not know.
    """

    def __init__(self, text: str) -> None:
        self.computations: dict[str, Computation] = {}
        self.entry = ""
        for entry, computation in _computations(text):
            self.computations[computation.name] = computation
            self.entry = computation.name if entry else self.entry
        if not self.entry:
            raise ValueError("no computation to begin with")

    @classmethod
    def of(cls, module: Any) -> Graph:
        """The graph of an HLO module of jaxlib's."""
        options = jaxlib_hlo().HloPrintOptions()
        options.print_metadata = False
        return cls(module.to_string(options))

    @property
    def instructions(self) -> Iterator[Instruction]:
        """Those of all computations."""
        return (each for part in self.computations.values() for each in part.instructions.values())

    @property
    def opcodes(self) -> dict[str, int]:
        """How many instructions of each opcode all computations hold, by name."""
        return dict(sorted(Counter(each.opcode for each in self.instructions).items()))

    def reach(self, name: str) -> list[str]:
        """The computation and all it calls, callees first: the order in which a text defines them."""
        order: dict[str, None] = {}

        def visit(name: str) -> None:
            if name not in order and name in self.computations:
                for instruction in self.computations[name].instructions.values():
                    for callee in instruction.callees:
                        visit(callee)
                order[name] = None

        visit(name)
        return list(order)

    def module(self, name: str) -> str:
        """The text of a module that begins with this computation."""
        *callees, entry = (self.computations[part].lines for part in self.reach(name))
        parts = ["\n".join(lines) for lines in callees]
        return "\n\n".join(["HloModule part", *parts, "ENTRY " + "\n".join(entry).removeprefix("ENTRY ")])


def _computations(text: str) -> Iterator[tuple[bool, Computation]]:
    lines: list[str] = []
    for line in text.splitlines():
        if lines and line.startswith(('"', "}}")):  # a Pallas kernel's metadata has lines of its own
            lines[-1] += line
        elif lines:
            lines.append(line)
            if line.startswith("}"):
                yield _computation(lines)
                lines = []
        elif COMPUTATION.match(line):
            lines = [line]


def _computation(lines: list[str]) -> tuple[bool, Computation]:
    head = COMPUTATION.match(lines[0])
    assert head
    instructions: dict[str, Instruction] = {}
    root = ""
    for line in lines[1:-1]:
        match = INSTRUCTION.match(line)
        if match is None:
            raise ValueError(f"no instruction: {line[:80]}")
        last, name, *rest = match.groups()
        instructions[name] = Instruction(name, *rest)
        root = name if last else root
    # A thread's name after the closing brace does not change what is computed, but stops XLA from parsing it.
    return bool(head[1]), Computation(head[2], (*lines[:-1], "}"), instructions, root)
