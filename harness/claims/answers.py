"""What a claim's function may ask: the claim's shape and table, compiled cases, contracts, costs, devices."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

from harness.catalog import accelerators
from harness.catalog.catalog import Catalog
from harness.catalog.known_frameworks import traits_of
from harness.claims.documents import crossover, first_win, fit
from harness.claims.model import Claim, ClaimEvidence, Judged, Need
from harness.claims.quantity import GIVEN, TABLE, Missing, Origin, Quantity, Value, known
from harness.core.case import Case
from harness.core.errors import UsageError, nearest
from harness.core.record import Cost
from harness.core.static_figures import STATIC_FIGURES
from harness.core.workload import shown_fields
from harness.run.compile.request import CompileResult
from harness.sweep.axes import missing_fields, swept, variant
from harness.sweep.yaml_nodes import Scalar

# Without the compiler's estimates of time, which are no evidence of a time
COMPILED = (*STATIC_FIGURES, "generated_code_bytes", "planned_bytes", "program")
ANALYTIC = ("cost_flops", "cost_bytes", "cost_dense_flops")
DEVICE = {"memory": "memory_bytes", "bandwidth": "bandwidth_bytes_s", "vector_ops": "vector_ops", "peak": ""}
PEAK_DTYPE = "bf16"
COUNTED = {"flops", "bytes_accessed"}  # per execution of a loop's body
DECIDED_STATUSES = {"ok", "incorrect"}  # of a contract: they judge the implementation, the others do not
MACHINE_FAILURES: Mapping[str, str] = {  # statuses that may be due to the machine, which may be slow or small
    "timeout": "took too long",
    "crashed": "crashed",
    "skipped": "was skipped",
    "oom": "ran out of memory",
}
DEVICE_FILE: Origin = ("the device's file", "")
COST: Origin = ("the family's cost formula", "")
TRACED: Origin = ("traced here over fake tensors", accelerators.HOST)
FACT: Origin = ("a fact of the case, read here", accelerators.HOST)
CONTRACT: Origin = ("its contract, run here", accelerators.HOST)
CHECK: Origin = ("its check, run here", accelerators.HOST)


class Answers:
    """What a claim's function is given as `e`: `e.seq`, `e.flops("scatter", "tpu:v5p", topk=512)`.

    Evidence that was not gathered has no value and is noted in `needs`. Figures of compiled cases, costs by a
    family's formula and properties of devices are asked for by the names in COMPILED, ANALYTIC and DEVICE.
    """

    def __init__(self, claim: Claim, catalog: Catalog, evidence: ClaimEvidence) -> None:
        self.claim, self.catalog, self.evidence = claim, catalog, evidence
        self.needs: dict[Need, None] = {}

    def __getattr__(self, name: str) -> Any:
        for known_names, ask in ((COMPILED, self._figure), (ANALYTIC, self._cost), (DEVICE, self._device)):
            if name in known_names:
                return partial(ask, name)
        shape = self.claim.shape
        if name not in shape:
            methods = [method for method in vars(Answers) if not method.startswith("_")]
            every = [*shape, *COMPILED, *ANALYTIC, *DEVICE, *methods]
            raise UsageError(f'unknown name "{name}"{nearest(name, every)}')
        if (value := shape[name]) is None:
            raise UsageError(f"{name} has no value; give it to Claim(…)")
        return known(value, GIVEN)

    # of the published table

    def __getitem__(self, begins: str) -> Any:
        """The row that begins so, as written; its cells by column: `e["1Mi"].dense`."""
        for written, cells in self._rows():
            if written[0] == begins:
                return SimpleNamespace(**cells)
        raise UsageError(f'no row of the table begins with "{begins}"')

    def each(self, *columns: str) -> Iterator[tuple[Quantity, ...]]:
        """The first cell and these columns of every row that has a number in them."""
        for _, cells in self._rows(*columns):
            asked = [cells[column] for column in columns if column in cells and cells[column].is_number]
            if len(asked) == len(columns):
                yield next(iter(cells.values())), *asked

    def growth(self, column: str, length: int) -> Quantity:
        """The value at a length over that at half of it."""
        by_length = self._column(column)
        if length not in by_length or length / 2 not in by_length:
            raise UsageError(f"the table holds no pair of rows at {length / 2:g} and {length:g}")
        return replace(by_length[length] / by_length[length / 2], origins=(TABLE,))

    def first_win(self, slower: str, faster: str) -> Quantity:
        """The first length in the table from which on the second column stays below the first."""
        return self._of_columns(first_win, slower, faster)

    def crossover(self, slower: str, faster: str) -> Quantity:
        """The length where one column passes the other for the last time, read between the rows."""
        return self._of_columns(crossover, slower, faster)

    def fit(self, column: str, length: int, *, start: float = 0) -> Quantity:
        """A parabola through the rows from `start` on, at a length."""
        return self._of_columns(partial(fit, length=length, start=start), column)

    def _rows(self, *columns: str) -> Iterator[tuple[tuple[str, ...], dict[str, Quantity]]]:
        """(the cells of a row as written, those that are not empty by column)."""
        table = self.claim.table
        if table is None:
            raise UsageError(f"{self.claim.id} has no table; name it as Claim(table=…)")
        for column in {*columns} - {*table.columns}:
            raise UsageError(f'unknown column "{column}" of {table.id}{nearest(column, table.columns)}')
        for written, row in zip(table.written, table.rows, strict=True):
            cells = zip(table.columns, row, strict=True)
            yield written, {name: known(cell, GIVEN) for name, cell in cells if cell is not None}

    def _column(self, column: str) -> dict[float, Quantity]:
        """The numbers of a column by the row's length, each length once."""
        found: dict[float, Quantity] = {}
        for first, cell in self.each(column):
            if first.value in found:
                raise UsageError(f"two rows of the table begin with {first.value}; a length has one row")
            if first.is_number:
                found[first.value] = cell
        return found

    def _of_columns(self, function: Callable[..., float], *columns: str) -> Quantity:
        plain = [{n: cell.value for n, cell in self._column(column).items()} for column in columns]
        return _known(TABLE, lambda: function(*plain))

    # what is compiled, run or counted

    def trace_bytes(self, label: str, **shape: Any) -> Quantity:
        """What a torch implementation holds at once."""
        case = self._case(label, shape)
        framework = self.catalog.implementation(case.implementation).framework
        if not traits_of(framework).traces_calls:
            raise UsageError(f"{label} is of {framework}, whose calls are not traced; ask temp_bytes")
        return self._of_compiled(case, accelerators.HOST, partial(_static, "temp_bytes"), TRACED)

    def fact(self, label: str, name: str, **shape: Any) -> Quantity:
        """What a case says of itself."""
        return self._of_compiled(self._case(label, shape), accelerators.HOST, partial(_fact, name), FACT)

    def calls(self, label: str, target: str, custom_call: str, **shape: Any) -> Quantity:
        """Whether the program has a custom call of this name."""

        def holds(need: Need, compiled: CompileResult) -> bool:
            _static("program", need, compiled)
            return custom_call in compiled.static.custom_calls

        return self._of_compiled(self._case(label, shape), target, holds)

    def ops(self, label: str, target: str, opcode: str, **shape: Any) -> Quantity:
        """How many operations of an opcode the program has."""

        def count(need: Need, compiled: CompileResult) -> int:
            opcodes = compiled.static.opcodes or None
            return _present(opcodes, f"the operations of {need.id} are not known").get(opcode, 0)

        return self._of_compiled(self._case(label, shape), target, count)

    def exponent(self, figure: str, label: str, target: str, low: int, high: int, **shape: Any) -> Quantity:
        """The exponent with which a compiled figure grows from a length to a longer one."""
        if figure not in COMPILED:
            raise UsageError(f'exponent(…) is of a figure, not of "{figure}"{nearest(figure, COMPILED)}')
        first, last = (self._figure(figure, label, target, **{**shape, "seq": seq}) for seq in (low, high))

        def slope() -> float:
            for end in (first, last):
                if end.missing:
                    raise end.missing
                if end.value <= 0:
                    raise Missing(f"{figure} of {label} is {end.value}: it has no exponent")
            return math.log(last.value / first.value) / math.log(high / low)

        return _known(_compiled_for(target), slope)

    def status(self, label: str, **shape: Any) -> Quantity:
        """How the contract of a case ends here: `ok` or `incorrect`."""
        need = Need(Need.JUDGE, self._case(label, shape))
        return self._read_evidence(CONTRACT, need, partial(_status, need))

    def check(self, check: str, label: str, **shape: Any) -> Quantity:
        """Whether a check of the family passes for a case here."""
        if check not in self.catalog.checks():
            raise UsageError(f'unknown check "{check}"{nearest(check, self.catalog.checks())}')
        need = Need(Need.JUDGE, self._case(label, shape), check=check)
        why = f"{check} decides nothing of {need.id}"
        return self._read_evidence(CHECK, need, lambda judged: _present(judged.checks.get(check), why))

    def _figure(self, name: str, label: str, target: str, **shape: Any) -> Quantity:
        return self._of_compiled(self._case(label, shape), target, partial(_static, name))

    def _cost(self, name: str, label: str, **shape: Any) -> Quantity:
        need, figure = Need(Need.COST, self._case(label, shape)), name.removeprefix("cost_")
        why = f"the family has no formula of {figure} for {need.id}"
        return self._read_evidence(COST, need, lambda cost: _present(getattr(cost, figure), why))

    def _device(self, name: str, target: str) -> Quantity:
        device = accelerators.target(target).accelerator

        def look_up() -> Value:
            if device is None:
                raise Missing(f"{target} has no data file")
            value = device.peak_flops.get(PEAK_DTYPE) if name == "peak" else getattr(device, DEVICE[name])
            return _present(value, f"the data file of {target} has no {name}")

        return _known(DEVICE_FILE, look_up)

    def _of_compiled(
        self, case: Case, target: str, read: Callable[[Need, Any], Value], origin: Origin | None = None
    ) -> Quantity:
        accelerators.target(target)
        need = Need(Need.COMPILE, case, target)
        return self._read_evidence(origin or _compiled_for(target), need, partial(read, need))

    def _case(self, label: str, given: Mapping[str, Any]) -> Case:
        """The case of a label such as `two_stage[keep=1]`, at the claim's shape but for what is given."""
        family = self.catalog.family(self.claim.family)
        info, options = swept(self.catalog, family.name, Scalar.from_text(f'"{label}"', label))
        chosen = variant(info, {option: values[0] for option, values in options.items()})
        plain = {name: value.value if isinstance(value, Quantity) else value for name, value in given.items()}
        mode = str(plain.pop("mode", family.modes[0]))
        if mode not in family.modes:
            raise UsageError(f'unknown mode "{mode}" of family {family.name}{nearest(mode, family.modes)}')
        shape = {**self.claim.shape, **{name: family.field(name).parse(plain[name]) for name in plain}}
        if absent := missing_fields(family, shape):
            raise UsageError(f"{label} has no {' and '.join(absent)}; give it to Claim(…)")
        return Case.of(info.id, dict(chosen.options), shown_fields(family.fields, shape), mode)

    def _read_evidence(self, origin: Origin, need: Need, read: Callable[[Any], Value]) -> Quantity:
        """What is read from the answer to a need, if that was gathered."""
        self.needs[need] = None

        def answer() -> Value:
            if need not in self.evidence:
                raise Missing("its evidence is not gathered yet")
            given = self.evidence[need]
            if isinstance(given, str):
                raise Missing(given)
            if not isinstance(given, Cost):
                _refuse_machine_failure(need, given)
            return read(given)

        return _known(origin, answer)


def _known(origin: Origin, answer: Callable[[], Value]) -> Quantity:
    try:
        return known(answer(), origin)
    except Missing as missing:
        return Quantity(None, origins=(origin,), missing=missing)


def _refuse_machine_failure(need: Need, answer: CompileResult | Judged) -> None:
    """Missing, but for another machine, where this one has no compiler, was too slow or too small."""
    if answer.status is None or (isinstance(answer, CompileResult) and answer.transient):
        raise Missing(answer.reason or str(answer.status), incomplete=True)
    if failure := MACHINE_FAILURES.get(answer.status):
        detail = f": {answer.reason}" if answer.reason else ""
        raise Missing(f"{need.id} {failure} here{detail}", incomplete=True)


def _static(name: str, need: Need, compiled: CompileResult) -> Value:
    """A figure of a compiled case, or its program's hash."""
    if compiled.static.body_only and name in COUNTED:
        raise Missing(f"{name} of {need.id} count a loop's body once")
    why = f"{name} of {need.id}: {compiled.static.unavailable.get(name, 'not given')}"
    if compiled.status != "ok" and compiled.reason:
        why = f"{need.id}: {compiled.reason}"
    return _present(getattr(compiled.static, name), why)


def _fact(name: str, need: Need, compiled: CompileResult) -> Value:
    facts = ", ".join(compiled.facts) or "none"
    return _present(compiled.facts.get(name), f'{need.id} has no fact "{name}"; it has {facts}')


def _status(need: Need, judged: Judged) -> str:
    if judged.status not in DECIDED_STATUSES:
        raise Missing(f"{need.id} is {judged.status}: {judged.reason or 'no reason was given'}")
    return judged.status


def _compiled_for(target: str) -> Origin:
    return f"compiled for {target}", target


def _present(value: Any, otherwise: str) -> Any:
    if value is None:
        raise Missing(otherwise)
    return value
