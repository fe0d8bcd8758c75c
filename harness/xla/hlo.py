"""An HLO module as a graph of computations and instructions, parsed from XLA's text of it.

jaxlib's objects lack operands' shapes, called computations and attributes, which the text has.
"""

from __future__ import annotations

import importlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

COMPUTATION = re.compile(r"(ENTRY )?%(\S+) .*\{$")
INSTRUCTION = re.compile(r"\s+(ROOT )?%(\S+) = (.+?) ([a-z][a-z0-9-]*)\(([^)]*)\)(.*)$")
OPERAND = re.compile(r"%([\w.\-]+)")
CALLED = re.compile(
    r"(?<=[ ,])(condition|body|to_apply|calls|true_computation|false_computation|branch_computations"
    r"|called_computations)=(\{[^}]*\}|%[\w.\-]+)"
)
STARTS = ("async-start", "call-start")  # an asynchronous call of a computation, under either name
BRANCHING = ("call", "conditional", *STARTS)  # like `while`, counted by the computations that they call


@dataclass(frozen=True)
class Instruction:
    """One instruction. `shape` is that of its result; `argument` is the text between its parentheses."""

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
        """The called computations by their role, for example `body`."""
        if "=%" not in self.attributes and "={%" not in self.attributes:
            return {}
        return {role: OPERAND.findall(names) for role, names in CALLED.findall(self.attributes)}

    @property
    def callees(self) -> list[str]:
        """The called computations in any role."""
        return [name for names in self.called.values() for name in names]

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
    """The computations of a module by name, and its entry computation.

    ValueError for text that this parser does not know.
    """

    def __init__(self, text: str) -> None:
        self.computations: dict[str, Computation] = {}
        self.entry = ""
        for entry, computation in _computations(text):
            self.computations[computation.name] = computation
            self.entry = computation.name if entry else self.entry
        if not self.entry:
            raise ValueError("the module has no entry computation")

    @classmethod
    def of(cls, module: Any) -> Graph:
        """The graph of an HLO module of jaxlib's."""
        options = jaxlib_hlo().HloPrintOptions()
        options.print_metadata = False
        return cls(module.to_string(options))

    @property
    def instructions(self) -> Iterator[Instruction]:
        """The instructions of all computations."""
        return (each for part in self.computations.values() for each in part.instructions.values())

    @property
    def opcodes(self) -> dict[str, int]:
        """The number of instructions by opcode, over all computations, sorted by name."""
        return dict(sorted(Counter(each.opcode for each in self.instructions).items()))

    def reach(self, name: str) -> list[str]:
        """The computation and all that it calls, callees first, as HLO text defines them."""
        order: dict[str, None] = {}

        def visit(name: str) -> None:
            if name not in order and name in self.computations:
                for instruction in self.computations[name].instructions.values():
                    for callee in instruction.callees:
                        visit(callee)
                order[name] = None

        visit(name)
        return list(order)

    def executions(
        self, trip_counts: Mapping[str, int | None], entered: Sequence[str] = BRANCHING
    ) -> Iterator[tuple[Computation, int | None]]:
        """(computation, executions per call) of the entry and what it calls, for each place of a call.

        Loop bodies run as often as their trip counts; None if that is None. Computations that only other
        opcodes than `entered` call are left out.
        """
        waiting: list[tuple[str, int | None]] = [(self.entry, 1)]
        while waiting:
            name, times = waiting.pop()
            yield self.computations[name], times
            for each in self.computations[name].instructions.values():
                if each.opcode == "while":
                    trips = trip_counts.get(each.name)
                    turns = None if times is None or trips is None else times * trips
                    waiting += [(callee, turns) for callee in each.called["body"]]
                elif each.opcode in entered:
                    waiting += [(callee, times) for callee in each.callees]

    def module(self, name: str) -> str:
        """The text of a module with this computation as its entry."""
        *callees, entry = (self.computations[part].lines for part in self.reach(name))
        parts = ["\n".join(lines) for lines in callees]
        return "\n\n".join(["HloModule part", *parts, "ENTRY " + "\n".join(entry).removeprefix("ENTRY ")])


def _computations(text: str) -> Iterator[tuple[bool, Computation]]:
    lines: list[str] = []
    for line in text.splitlines():
        if lines and line.startswith(('"', "}}")):  # a Pallas kernel's metadata spans lines
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
            raise ValueError(f"not an instruction: {line[:80]}")
        last, name, *rest = match.groups()
        instructions[name] = Instruction(name, *rest)
        root = name if last else root
    # The closing brace may be followed by a thread's name, which XLA's parser does not accept.
    return bool(head[1]), Computation(head[2], (*lines[:-1], "}"), instructions, root)


def jaxlib_hlo() -> Any:
    """The module of jaxlib with the classes of HLO modules, loaded only when it is used."""
    return importlib.import_module("jaxlib._hlo")
