"""What a buffer of a program is called: its instruction, its operator, its shape and its source line."""

import re
from typing import Any

from harness.xla.hlo import Computation, Graph, Instruction
from harness.xla.libtpu_module import COMPUTATIONS, ID, INSTRUCTIONS
from harness.xla.operator_weights import Places
from harness.xla.protobuf import BYTES, message

SHAPE = re.compile(r"\b[a-z]\w*\[[\d,<=]*\]")
OP_NAME = re.compile(r'\bop_name="([^"]*)"')
NAME = 1  # in an instruction's message
FORWARDED = ("bitcast", "copy", "copy-done", "copy-start", "get-tuple-element", "reshape", "transpose")


class Names:
    """The instructions of a module by name; its text has their metadata."""

    def __init__(self, graph: Graph, text: str) -> None:
        self.graph, self.places = graph, Places(text)
        self.owner: dict[str, Computation] = {}
        self.readers: dict[str, list[str]] = {}
        for part in graph.computations.values():
            for name, instruction in part.instructions.items():
                self.owner[name] = part
                for operand in instruction.operands:
                    self.readers.setdefault(operand, []).append(name)

    def instruction(self, name: str) -> Instruction:
        return self.owner[name].instructions[name]

    def argument(self, name: str) -> str:
        """A parameter's name in the source, such as `q` or `weights['wq']`."""
        match = OP_NAME.search(self.instruction(name).attributes)
        return match[1] if match else name

    def shape(self, name: str, index: tuple[int, ...]) -> str:
        """`f32[8,1024]` of a result or, by its index, of a tuple's part; empty where it is a tuple itself."""
        shape = self.instruction(name).shape
        parts = SHAPE.findall(shape)
        if not shape.startswith("("):
            return parts[0] if parts else ""
        return parts[index[0]] if len(index) == 1 and index[0] < len(parts) else ""

    def made_by(self, name: str, index: tuple[int, ...] = ()) -> tuple[str, str]:
        """(operator, `file:line`) of what made a buffer.

        The operator is jax's, such as `dot_general`; XLA's opcode where the module does not name it. A buffer
        that is the compiler's own has the line of what reads it: it is there for that one's sake; or, where
        nothing with a line does, of what it reads.
        """
        instruction = self.instruction(name)
        for each in (self._part(instruction, index), instruction):
            if each is not None and (place := self.places.of(each, self.graph)):
                return self._operator(each), place
        operator = self._operator(instruction)
        if instruction.opcode in FORWARDED and instruction.operands:
            return operator, self.made_by(instruction.operands[0])[1]
        for role, neighbours in (("for", self._read_by), ("of", self._reads)):
            waiting = neighbours(name)
            seen = {name, *waiting}
            for each in waiting:
                if place := self.places.of(self.instruction(each), self.graph):
                    return f"{operator} {role} {self._operator(self.instruction(each))}", place
                further = [other for other in neighbours(each) if other not in seen]
                seen.update(further)
                waiting += further
        return operator, ""

    def _read_by(self, name: str) -> list[str]:
        return [*self.readers.get(name, ())]

    def _reads(self, name: str) -> list[str]:
        return [operand for operand in self.instruction(name).operands if operand in self.owner]

    def _operator(self, instruction: Instruction) -> str:
        match = OP_NAME.search(instruction.attributes)
        return match[1].split(";")[0].split("/")[-1] if match else instruction.opcode

    def _part(self, instruction: Instruction, index: tuple[int, ...]) -> Instruction | None:
        """Of a fusion with several results, the instruction inside that makes this one."""
        if instruction.opcode != "fusion" or len(index) != 1:
            return None
        inner = self.graph.computations[instruction.called["calls"][0]]
        root = inner.instructions[inner.root]
        operands = root.operands if root.opcode == "tuple" else []
        return inner.instructions[operands[index[0]]] if index[0] < len(operands) else None


def instruction_names(module: Any) -> dict[int, str]:
    """The names of a jaxlib module's instructions by the ids that a buffer assignment has for them."""
    names: dict[int, str] = {}
    for part in message(module.as_serialized_hlo_module_proto()):
        if part.number != COMPUTATIONS:
            continue
        for field in message(part.value):
            if field.number == INSTRUCTIONS and field.kind == BYTES:
                instruction = message(field.value)
                (number,) = (value for each in instruction if each.number == ID for value in each.numbers)
                (name,) = (each.value.decode() for each in instruction if each.number == NAME)
                names[number] = name
    return names
