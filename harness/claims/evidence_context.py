"""Evidence for a claim's function: shape, table, compiled cases, contracts, costs and devices."""

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
from harness.claims.model import Claim, ClaimEvidence, ContractOutcome, EvidenceRequest
from harness.claims.quantity import GIVEN, TABLE, Missing, Origin, Quantity, Value, known
from harness.core.case import Case
from harness.core.errors import UsageError, nearest
from harness.core.record import Cost
from harness.core.static_figures import STATIC_FIGURES
from harness.core.workload import shown_fields
from harness.run.compile.request import CompileResult
from harness.sweep.axes import missing_fields, swept, variant
from harness.sweep.yaml_nodes import Scalar

# Without the compiler's estimates of time, which are not evidence of a time
COMPILED = (*STATIC_FIGURES, "generated_code_bytes", "planned_bytes", "program")
ANALYTIC = ("cost_flops", "cost_bytes", "cost_dense_flops")
DEVICE = {"memory": "memory_bytes", "bandwidth": "bandwidth_bytes_s", "vector_ops": "vector_ops", "peak": ""}
PEAK_DTYPE = "bf16"
COUNTED = {"flops", "bytes_accessed"}  # per execution of a loop's body
DECIDED_STATUSES = {"ok", "incorrect"}  # statuses that decide a contract
MACHINE_FAILURES: Mapping[str, str] = {  # statuses that may be caused by a slow or small machine
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


class EvidenceContext:
    """Parameter `e` of a claim's function: `e.seq`, `e.flops("scatter", "tpu:v5p", topk=512)`.

    Evidence that was not gathered has no value, and is added to `requests`. COMPILED, ANALYTIC and DEVICE are
    the names of compiled figures, of costs by a family's formula, and of device properties.
    """

    def __init__(self, claim: Claim, catalog: Catalog, evidence: ClaimEvidence) -> None:
        self.claim, self.catalog, self.evidence = claim, catalog, evidence
        self.requests: dict[EvidenceRequest, None] = {}

    def __getattr__(self, name: str) -> Any:
        for known_names, ask in ((COMPILED, self._figure), (ANALYTIC, self._cost), (DEVICE, self._device)):
            if name in known_names:
                return partial(ask, name)
        shape = self.claim.shape
        if name not in shape:
            methods = [method for method in vars(EvidenceContext) if not method.startswith("_")]
            every = [*shape, *COMPILED, *ANALYTIC, *DEVICE, *methods]
            raise UsageError(f'unknown name "{name}"{nearest(name, every)}')
        if (value := shape[name]) is None:
            raise UsageError(f"{name} has no value; pass it to Claim(…)")
        return known(value, GIVEN)

    # of the published table

    def __getitem__(self, first: str) -> Any:
        """Cells by column of the row with this first cell, as written: `e["1Mi"].dense`."""
        for written, cells in self._rows():
            if written[0] == first:
                return SimpleNamespace(**cells)
        raise UsageError(f'the table has no row "{first}"')

    def each(self, *columns: str) -> Iterator[tuple[Quantity, ...]]:
        """The first cell and these columns, for every row with numbers in them."""
        for _, cells in self._rows(*columns):
            wanted = [cells[column] for column in columns if column in cells and cells[column].is_number]
            if len(wanted) == len(columns):
                yield next(iter(cells.values())), *wanted

    def growth(self, column: str, length: int) -> Quantity:
        """The value at a length divided by the value at half of it."""
        by_length = self._column(column)
        if length not in by_length or length / 2 not in by_length:
            raise UsageError(f"the table does not have rows at {length / 2:g} and {length:g}")
        return replace(by_length[length] / by_length[length / 2], origins=(TABLE,))

    def first_win(self, slower: str, faster: str) -> Quantity:
        """First length in the table from which the second column stays below the first."""
        return self._of_columns(first_win, slower, faster)

    def crossover(self, slower: str, faster: str) -> Quantity:
        """Last length where the columns cross, interpolated between rows."""
        return self._of_columns(crossover, slower, faster)

    def fit(self, column: str, length: int, *, start: float = 0) -> Quantity:
        """Value at a length of a parabola fitted to the rows from `start`."""
        return self._of_columns(partial(fit, length=length, start=start), column)

    def _rows(self, *columns: str) -> Iterator[tuple[tuple[str, ...], dict[str, Quantity]]]:
        """(cells of a row as written, non-empty cells by column), for every row."""
        table = self.claim.table
        if table is None:
            raise UsageError(f"{self.claim.id} has no table; pass one with Claim(table=…)")
        for column in {*columns} - {*table.columns}:
            raise UsageError(f'unknown column "{column}" of {table.id}{nearest(column, table.columns)}')
        for written, row in zip(table.written, table.rows, strict=True):
            cells = zip(table.columns, row, strict=True)
            yield written, {name: known(cell, GIVEN) for name, cell in cells if cell is not None}

    def _column(self, column: str) -> dict[float, Quantity]:
        """Numbers of a column by the row's length."""
        found: dict[float, Quantity] = {}
        for first, cell in self.each(column):
            if first.value in found:
                raise UsageError(f"the table has two rows for {first.value}; write one row per length")
            if first.is_number:
                found[first.value] = cell
        return found

    def _of_columns(self, function: Callable[..., float], *columns: str) -> Quantity:
        plain = [{n: cell.value for n, cell in self._column(column).items()} for column in columns]
        return _known(TABLE, lambda: function(*plain))

    # compiled, run or counted

    def trace_bytes(self, label: str, **shape: Any) -> Quantity:
        """Peak temporaries of a torch implementation, in bytes."""
        case = self._case(label, shape)
        framework = self.catalog.implementation(case.implementation).framework
        if not traits_of(framework).traces_calls:
            raise UsageError(f"{label} uses {framework}, which is not traced; use temp_bytes")
        return self._of_compiled(case, accelerators.HOST, partial(_static, "temp_bytes"), TRACED)

    def fact(self, label: str, name: str, **shape: Any) -> Quantity:
        """A fact that a case reports."""
        return self._of_compiled(self._case(label, shape), accelerators.HOST, partial(_fact, name), FACT)

    def calls(self, label: str, target: str, custom_call: str, **shape: Any) -> Quantity:
        """Whether the program has a custom call with this name."""

        def has_call(request: EvidenceRequest, compiled: CompileResult) -> bool:
            _static("program", request, compiled)
            return custom_call in compiled.static.custom_calls

        return self._of_compiled(self._case(label, shape), target, has_call)

    def ops(self, label: str, target: str, opcode: str, **shape: Any) -> Quantity:
        """Number of operations with this opcode in the program."""

        def count(request: EvidenceRequest, compiled: CompileResult) -> int:
            opcodes = compiled.static.opcodes or None
            return _present(opcodes, f"the operations of {request.id} are unknown").get(opcode, 0)

        return self._of_compiled(self._case(label, shape), target, count)

    def exponent(self, figure: str, label: str, target: str, low: int, high: int, **shape: Any) -> Quantity:
        """Exponent of a compiled figure's growth between two lengths."""
        if figure not in COMPILED:
            raise UsageError(f'exponent(…): unknown figure "{figure}"{nearest(figure, COMPILED)}')
        first, last = (self._figure(figure, label, target, **{**shape, "seq": seq}) for seq in (low, high))

        def slope() -> float:
            for end in (first, last):
                if end.missing:
                    raise end.missing
                if end.value <= 0:
                    raise Missing(f"{figure} of {label} is {end.value}, so it has no exponent")
            return math.log(last.value / first.value) / math.log(high / low)

        return _known(_compiled_for(target), slope)

    def status(self, label: str, **shape: Any) -> Quantity:
        """Result of the contract of a case here: `ok` or `incorrect`."""
        request = EvidenceRequest(EvidenceRequest.CONTRACT, self._case(label, shape))
        return self._read_evidence(CONTRACT, request, partial(_status, request))

    def check(self, check: str, label: str, **shape: Any) -> Quantity:
        """Whether a check of the family passes for a case here."""
        if check not in self.catalog.checks():
            raise UsageError(f'unknown check "{check}"{nearest(check, self.catalog.checks())}')
        request = EvidenceRequest(EvidenceRequest.CONTRACT, self._case(label, shape), check=check)
        why = f"{check} has no result for {request.id}"
        return self._read_evidence(CHECK, request, lambda judged: _present(judged.checks.get(check), why))

    def _figure(self, name: str, label: str, target: str, **shape: Any) -> Quantity:
        return self._of_compiled(self._case(label, shape), target, partial(_static, name))

    def _cost(self, name: str, label: str, **shape: Any) -> Quantity:
        request = EvidenceRequest(EvidenceRequest.COST, self._case(label, shape))
        figure = name.removeprefix("cost_")
        why = f"the family has no formula for {figure} of {request.id}"
        return self._read_evidence(COST, request, lambda cost: _present(getattr(cost, figure), why))

    def _device(self, name: str, target: str) -> Quantity:
        device = accelerators.target(target).accelerator

        def look_up() -> Value:
            if device is None:
                raise Missing(f"{target} has no data file")
            value = device.peak_flops.get(PEAK_DTYPE) if name == "peak" else getattr(device, DEVICE[name])
            return _present(value, f"the data file of {target} has no {name}")

        return _known(DEVICE_FILE, look_up)

    def _of_compiled(
        self, case: Case, target: str, read: Callable[..., Value], origin: Origin | None = None
    ) -> Quantity:
        accelerators.target(target)
        request = EvidenceRequest(EvidenceRequest.COMPILE, case, target)
        return self._read_evidence(origin or _compiled_for(target), request, partial(read, request))

    def _case(self, label: str, given: Mapping[str, Any]) -> Case:
        """Case of a label like `two_stage[keep=1]`, at the claim's shape with the `given` changes."""
        family = self.catalog.family(self.claim.family)
        info, options = swept(self.catalog, family.name, Scalar.from_text(f'"{label}"', label))
        chosen = variant(info, {option: values[0] for option, values in options.items()})
        plain = {name: value.value if isinstance(value, Quantity) else value for name, value in given.items()}
        mode = str(plain.pop("mode", family.modes[0]))
        if mode not in family.modes:
            raise UsageError(f'unknown mode "{mode}" of family {family.name}{nearest(mode, family.modes)}')
        shape = {**self.claim.shape, **{name: family.field(name).parse(plain[name]) for name in plain}}
        if absent := missing_fields(family, shape):
            raise UsageError(f"{label} has no {' and '.join(absent)}; pass it to Claim(…)")
        return Case.of(info.id, dict(chosen.options), shown_fields(family.fields, shape), mode)

    def _read_evidence(
        self, origin: Origin, request: EvidenceRequest, read: Callable[[Any], Value]
    ) -> Quantity:
        """Read a value from the evidence for a request, if it was gathered."""
        self.requests[request] = None

        def answer() -> Value:
            if request not in self.evidence:
                raise Missing("its evidence is not gathered yet")
            given = self.evidence[request]
            if isinstance(given, str):
                raise Missing(given)
            if not isinstance(given, Cost):
                _refuse_machine_failure(request, given)
            return read(given)

        return _known(origin, answer)


def _known(origin: Origin, answer: Callable[[], Value]) -> Quantity:
    try:
        return known(answer(), origin)
    except Missing as missing:
        return Quantity(None, origins=(origin,), missing=missing)


def _refuse_machine_failure(request: EvidenceRequest, answer: CompileResult | ContractOutcome) -> None:
    """Raise Missing if this machine lacks a compiler, or was too slow or too small."""
    if answer.status is None or (isinstance(answer, CompileResult) and answer.transient):
        raise Missing(answer.reason or str(answer.status), incomplete=True)
    if failure := MACHINE_FAILURES.get(answer.status):
        detail = f": {answer.reason}" if answer.reason else ""
        raise Missing(f"{request.id} {failure} here{detail}", incomplete=True)


def _static(name: str, request: EvidenceRequest, compiled: CompileResult) -> Value:
    """Figure of a compiled case, or its program's hash."""
    if compiled.static.body_only and name in COUNTED:
        raise Missing(f"{name} of {request.id} counts a loop's body only once")
    why = f"{name} of {request.id}: {compiled.static.unavailable.get(name, 'not given')}"
    if compiled.status != "ok" and compiled.reason:
        why = f"{request.id}: {compiled.reason}"
    return _present(getattr(compiled.static, name), why)


def _fact(name: str, request: EvidenceRequest, compiled: CompileResult) -> Value:
    facts = ", ".join(compiled.facts) or "none"
    return _present(compiled.facts.get(name), f'{request.id} has no fact "{name}"; it has {facts}')


def _status(request: EvidenceRequest, judged: ContractOutcome) -> str:
    if judged.status not in DECIDED_STATUSES:
        raise Missing(f"{request.id} is {judged.status}: {judged.reason or 'no reason given'}")
    return judged.status


def _compiled_for(target: str) -> Origin:
    return f"compiled for {target}", target


def _present(value: Any, otherwise: str) -> Any:
    if value is None:
        raise Missing(otherwise)
    return value
