"""Names of a program's buffers: instruction, operator, shape and source line."""

import re
from collections import Counter
from typing import Any

from harness.core.paths import shown_path
from harness.xla.hlo import Computation, Graph, Instruction
from harness.xla.libtpu_module import COMPUTATIONS, ID, INSTRUCTIONS
from harness.xla.protobuf import BYTES, message, numbers_of

SHAPE = re.compile(r"\b[a-z]\w*\[[\d,<=]*\]")
OP_NAME = re.compile(r'\bop_name="([^"]*)"')
NAME = 1  # in an instruction's message
FORWARDED = ("bitcast", "copy", "copy-done", "copy-start", "get-tuple-element", "reshape", "transpose")
# The tables of source locations that precede the computations in XLA's text.
HEADING = re.compile(r"[A-Z]\w+$")
TABLES = {
    "FileNames": re.compile(r'(\d+) "(.*)"$'),
    "FileLocations": re.compile(r"(\d+) \{(?=.*\bfile_name_id=(\d+))(?=.*\bline=(\d+))"),
    "StackFrames": re.compile(r"(\d+) \{.*\bfile_location_id=(\d+)"),
}
FRAME = re.compile(r"metadata=\{[^}]*\bstack_frame_id=(\d+)")


class Names:
    """The instructions of a module by name; `text` has their metadata."""

    def __init__(self, graph: Graph, text: str) -> None:
        self.graph, self.places = graph, Places(text)
        self.computation: dict[str, Computation] = {}
        self.readers: dict[str, list[str]] = {}
        for part in graph.computations.values():
            for name, instruction in part.instructions.items():
                self.computation[name] = part
                for operand in instruction.operands:
                    self.readers.setdefault(operand, []).append(name)

    def instruction(self, name: str) -> Instruction:
        return self.computation[name].instructions[name]

    def argument(self, name: str) -> str:
        """A parameter's name in the source, for example `q` or `weights['wq']`."""
        match = OP_NAME.search(self.instruction(name).attributes)
        return match[1] if match else name

    def shape(self, name: str, index: tuple[int, ...]) -> str:
        """`f32[8,1024]` of a result or, by its index, of a tuple's part; empty if that is a tuple."""
        shape = self.instruction(name).shape
        parts = SHAPE.findall(shape)
        if not shape.startswith("("):
            return parts[0] if parts else ""
        return parts[index[0]] if len(index) == 1 and index[0] < len(parts) else ""

    def made_by(self, name: str, index: tuple[int, ...] = ()) -> tuple[str, str]:
        """(operator, `file:line`) of the instruction that makes a buffer.

        The operator is jax's, for example `dot_general`, or XLA's opcode if the module has no name. A buffer
        that the compiler added has no line. It gets the line of the nearest instruction that reads it or, if
        none has a line, of the nearest instruction whose result it reads.
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
        return [operand for operand in self.instruction(name).operands if operand in self.computation]

    def _operator(self, instruction: Instruction) -> str:
        match = OP_NAME.search(instruction.attributes)
        return match[1].split(";")[0].split("/")[-1] if match else instruction.opcode

    def _part(self, instruction: Instruction, index: tuple[int, ...]) -> Instruction | None:
        """In a fusion with several results, the inner instruction that makes this one."""
        if instruction.opcode != "fusion" or len(index) != 1:
            return None
        inner = self.graph.computations[instruction.called["calls"][0]]
        root = inner.instructions[inner.root]
        operands = root.operands if root.opcode == "tuple" else []
        return inner.instructions[operands[index[0]]] if index[0] < len(operands) else None


class Places:
    """The source locations of a module's instructions."""

    def __init__(self, text: str) -> None:
        tables: dict[str, dict[str, tuple[str, ...]]] = {name: {} for name in TABLES}
        heading = ""
        for line in text.splitlines():
            if line.startswith(("%", "ENTRY ")):
                break
            if HEADING.match(line):
                heading = line
            elif heading in TABLES and (match := TABLES[heading].match(line)):
                tables[heading][match[1]] = match.groups()[1:]
        self.files, self.locations, self.frames = tables.values()

    def of(self, instruction: Instruction, graph: Graph) -> str:
        """`file:line` of an instruction; for a fusion without one, the most common of its instructions."""
        inside = [
            self._source_line(inner)
            for name in instruction.callees
            for inner in graph.computations[name].instructions.values()
        ]
        common = Counter(filter(None, inside)).most_common(1)
        return self._source_line(instruction) or (common[0][0] if common else "")

    def _source_line(self, instruction: Instruction) -> str:
        frame = FRAME.search(instruction.attributes)
        if frame is None or frame[1] not in self.frames:
            return ""
        (location,) = self.frames[frame[1]]
        if location not in self.locations:
            return ""
        file, line = self.locations[location]
        return f"{shown_path(*self.files[file])}:{line}" if file in self.files else ""


def instruction_names(module: Any) -> dict[int, str]:
    """The names of a module's instructions by id, as a buffer assignment refers to them."""
    names: dict[int, str] = {}
    for part in message(module.as_serialized_hlo_module_proto()):
        if part.number != COMPUTATIONS:
            continue
        for field in message(part.value):
            if field.number == INSTRUCTIONS and field.kind == BYTES:
                instruction = message(field.value)
                (number,) = numbers_of(instruction, ID)
                (name,) = (each.value.decode() for each in instruction if each.number == NAME)
                names[number] = name
    return names
