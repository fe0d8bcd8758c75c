"""Live ranges: a scheduled module as one sequence of instructions, and how long each buffer in it is live.

The computations that an instruction calls (a loop's condition and body, the branches of a conditional) stand
before it, once. A buffer's position is an instruction's result or a part of it. Some instructions forward a
buffer to another position: tuples, get-tuple-elements, bitcasts, loops that do not change it.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator

from harness.xla.hlo import STARTS, Graph, Instruction

Position = tuple[str, tuple[int, ...]]  # (instruction's name, index into its result's tuple)

ENTERED = (
    "while",
    "call",
    "conditional",
    *STARTS,
)  # their computations are in the sequence, fusions' are not
# Their result is their first operand; with IN_PLACE it is written into that, if nothing else still reads it.
SAME = ("bitcast", "add-dependency", "optimization-barrier", "domain", "async-update")
IN_PLACE = ("dynamic-update-slice", "scatter")


class Timeline:
    """The instructions that the entry runs, in order; `step` is the index of each by name."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.order: list[Instruction] = []
        self.step: dict[str, int] = {}
        self.entered: dict[str, int] = {}  # the step at which an instruction's computations begin
        self.readers: dict[str, list[Instruction]] = defaultdict(list)
        self.carried: dict[str, list[str]] = defaultdict(list)  # result → results that are the same
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
        """Note which results are the called computations' parameters, and which is the caller's result."""
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

    def live_range(self, start: Position, definitions: Collection[Position]) -> tuple[int, int]:
        """(first, last) step of the buffer that is defined at a position.

        `definitions` are the positions at which other buffers are defined, which end the forwarding.
        """
        return self.live_range_of(start, self.positions_of(start, definitions))

    def live_range_of(self, start: Position, positions: Collection[Position]) -> tuple[int, int]:
        """As :meth:`live_range`, for a buffer whose positions are known."""
        return self.step.get(start[0], 0), max(map(self._last_read, positions))

    def positions_of(self, start: Position, definitions: Collection[Position]) -> set[Position]:
        """All positions of the buffer that is defined at `start`."""
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
            entered = reader.opcode == "while"  # inside, the loop's own parameter is read
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
