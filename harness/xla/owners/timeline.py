"""A scheduled module as one line of instructions, and how long each buffer on it is alive.

A loop's condition and body, and what a call or a conditional calls, stand in front of the instruction that
calls them, once. A buffer has a position, an instruction's result or a part of it; some instructions hand it
on: a tuple, what takes a part of one, a bitcast, a loop whose turns do not change it.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator

from harness.xla.hlo import STARTS, Graph, Instruction

Position = tuple[str, tuple[int, ...]]  # an instruction's name, and the place in its result's tuple

ENTERED = ("while", "call", "conditional", *STARTS)  # their computations are scheduled, a fusion's are not
# What these make is their first operand, or is written into it where nobody else still reads that.
SAME = ("bitcast", "add-dependency", "optimization-barrier", "domain", "async-update")
IN_PLACE = ("dynamic-update-slice", "scatter")


class Timeline:
    """The instructions that the entry runs, in order. `step` is an instruction's place in it by its name."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.order: list[Instruction] = []
        self.step: dict[str, int] = {}
        self.entered: dict[str, int] = {}  # the step at which what an instruction calls begins
        self.readers: dict[str, list[Instruction]] = defaultdict(list)
        self.carried: dict[str, list[str]] = defaultdict(list)  # results that are handed on whole, to which
        self._enter(graph.entry)

    def _enter(self, name: str) -> None:
        for instruction in self.graph.computations[name].instructions.values():
            for operand in instruction.operands:
                self.readers[operand].append(instruction)
            if instruction.opcode in ENTERED:
                self.entered[instruction.name] = len(self.order)
                self._carry(instruction)
                for callee in instruction.callees:
                    self._enter(callee)
            self.step[instruction.name] = len(self.order)
            self.order.append(instruction)

    def _carry(self, caller: Instruction) -> None:
        """Note which results are parameters of what is called, and which of its results are the caller's."""
        operands, callees = caller.operands, [self.graph.computations[name] for name in caller.callees]
        for place, callee in enumerate(callees):
            parameters = {
                int(each.argument): each.name
                for each in callee.instructions.values()
                if each.opcode == "parameter"
            }
            taken = [operands[1 + place]] if caller.opcode == "conditional" else operands
            for number, operand in enumerate(taken):
                self.carried[operand].append(parameters[number])
            if caller.opcode not in ("while", *STARTS):
                self.carried[callee.root].append(caller.name)
        if caller.opcode == "while":
            self.carried[operands[0]].append(caller.name)

    def life(self, start: Position, definitions: Collection[Position]) -> tuple[int, int]:
        """(first, last) step of the buffer that is made at a position, until what reads it is done.

        `definitions` are the positions at which other buffers begin: it is not handed on to these.
        """
        return self.life_of(start, self.reached(start, definitions))

    def life_of(self, start: Position, reached: Collection[Position]) -> tuple[int, int]:
        """The same of a buffer whose positions are known."""
        return self.step.get(start[0], 0), max(map(self._last_read, reached))

    def reached(self, start: Position, definitions: Collection[Position]) -> set[Position]:
        """The positions at which the buffer is that is made at `start`."""
        seen, waiting = {start}, [start]
        while waiting:
            for further in self._handed_on(waiting.pop()):
                if further not in seen and further not in definitions:
                    seen.add(further)
                    waiting.append(further)
        return seen

    def _last_read(self, position: Position) -> int:
        name, index = position
        last = self.step.get(name, 0)
        for reader in self.readers[name]:
            if reader.opcode == "get-tuple-element" and index[:1] != (part_of(reader),):
                continue
            entered = reader.opcode == "while"  # from then on the loop's own parameter has it
            last = max(last, (self.entered if entered else self.step)[reader.name])
        return last

    def _handed_on(self, position: Position) -> Iterator[Position]:
        name, index = position
        for reader in self.readers[name]:
            if reader.opcode == "tuple":
                yield from (
                    (reader.name, (place, *index))
                    for place, operand in enumerate(reader.operands)
                    if operand == name
                )
            elif reader.opcode == "get-tuple-element":
                if index[:1] == (part_of(reader),):
                    yield reader.name, index[1:]
            elif reader.opcode in (*SAME, *IN_PLACE) and reader.operands[0] == name:
                yield reader.name, index
            elif reader.opcode == "custom-call-start":
                yield from (
                    (reader.name, (0, place, *index))
                    for place, operand in enumerate(reader.operands)
                    if operand == name
                )
            elif reader.opcode == "custom-call-done" and index == (1,):
                yield reader.name, ()
            elif reader.opcode == "copy-start" and not index:
                yield reader.name, (1,)  # the source is read until the copy is done
            elif reader.opcode == "copy-done" and index == (0,):
                yield reader.name, ()
        yield from ((to, index) for to in self.carried[name])


def part_of(reader: Instruction) -> int:
    """Which part of a tuple a get-tuple-element takes."""
    _, _, number = reader.attributes.partition("index=")
    return int(number.split(",")[0].split("}")[0])
