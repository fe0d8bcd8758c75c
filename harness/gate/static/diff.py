"""Diff of a case's static figures between two sides: they are exact, so it needs no statistics.

Any increase of a figure is a regression; a figure that either side lacks is not compared. An intended change
is accepted in bench.yaml per figure, with a reason, and becomes a note.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from harness.core.peak_owners import OwnerChange, Owners, owner_changes
from harness.core.record import UNJUDGED, Correctness
from harness.core.static_figures import EXACT_FIGURES, FLOPS_SOURCES, WORDS, Static, change, known_figure
from harness.gate.outcome import IMPROVED, INCORRECT, INVALID, NEW, REGRESSED, UNCHANGED, VANISHED
from harness.gate.static.exact_kernel import EXACT_WORDS, ExactKernel, kernel_pairs
from harness.report.tables.owners_table import change_sentences

SAME_PROGRAM = "same program"
SAME_FIGURES = "another program with the same figures"
SAME_KERNELS = "the same kernels"
NO_FIGURES = "no figure stands on both sides; only the contract is compared"
OPAQUE = "what the compiler cannot count, or an approximation that fell back to exact"
UNMEASURED = ("contract", "custom_calls")  # whose changes have no amount, and may be meant
MEANT = "if it is meant, accept {} in bench.yaml with the reason"

# The kinds of buffers that a figure of memory counts.
MEMORY: Mapping[str, tuple[str, ...]] = {
    "temp_bytes": ("temp",),
    "argument_bytes": ("argument", "saved"),
    "output_bytes": ("output",),
}

Accepted = Callable[[str], str | None]  # figure → the reason why its change is accepted


@dataclass(frozen=True)
class StaticFigures:
    """The deterministic figures of a case on one target.

    `passed` is None where no contract was judged. `compiles` counts compilations in calls after the
    first. `expected`: the case is declared to fail its contract.
    """

    figures: Mapping[str, int | float | None]
    framework: str
    unavailable: Mapping[str, str] = field(default_factory=dict[str, str])
    program: str | None = None
    custom_calls: tuple[str, ...] = ()
    flops_source: str | None = None
    contract: str | None = None
    passed: bool | None = None
    contract_figures: Mapping[str, float | int | str | None] = field(
        default_factory=dict[str, float | int | str | None]
    )
    kernels: Mapping[str, tuple[ExactKernel, ...]] = field(  # by target
        default_factory=dict[str, tuple[ExactKernel, ...]]
    )
    compiles: int = 0
    owners: Owners | None = None  # of the planned peak, where a side plans more than the other
    status: str = "ok"
    reason: str | None = None
    expected: bool = False

    def __post_init__(self) -> None:
        for name, value in self.figures.items():
            if value is not None and known_figure(value) is None:
                raise ValueError(f"{name} is {value}, which is no figure")
        if self.flops_source not in {None, *FLOPS_SOURCES}:
            raise ValueError(f"flops_source is {self.flops_source}")

    @property
    def state(self) -> str:
        """Its status; a contract that failed is `incorrect`, expected or not."""
        return "incorrect" if self.passed is False else self.status

    @classmethod
    def of(cls, static: Static, correctness: Correctness | None = None, **outcome: Any) -> StaticFigures:
        """The figures of a compiled case; `outcome` has the fields from `kernels` on, and `framework`."""
        return cls(
            figures={name: getattr(static, name) for name in EXACT_FIGURES},
            unavailable=static.unavailable,
            program=static.program,
            custom_calls=static.custom_calls,
            flops_source=static.flops_source,
            contract=correctness.contract if correctness else None,
            passed=correctness.passed if correctness else None,
            contract_figures=correctness.figures if correctness else {},
            **outcome,
        )


class StaticVerdict(NamedTuple):
    """`verdict` is one of the gate's, or None for a case that runs on neither side."""

    verdict: str | None
    reason: str
    notes: tuple[str, ...] = ()


def compare(base: StaticFigures | None, candidate: StaticFigures, accept: Accepted | None) -> StaticVerdict:
    """The verdict on a case. `base` is None where the base has no such case.

    Without `accept` no change can be accepted, and no reason says how.
    """
    verdict = _wrong_result(candidate)
    if verdict is not None:
        return verdict
    if base is None or base.state != "ok" or candidate.state != "ok":
        return _status_verdict(base, candidate)
    worse: list[str] = []
    notes: list[str] = []
    changes = (
        *_contract_changes(base, candidate),
        *_call_changes(base, candidate),
        *_increases(base, candidate),
        *(("kernels", sentence) for more, sentence in kernel_changes(base, candidate) if more),
    )
    for key, sentence, *buffers in changes:
        why = accept(key) if accept else None
        if why is None:
            remedy = f"; {MEANT.format(key)}" if accept and key in UNMEASURED else ""
            worse.append("; ".join([sentence, *buffers]) + remedy)
        else:
            notes.append(f"accepted: {sentence}: {why}")
    notes += _doubts(base, candidate)
    better = [change(name, old, new) for name, old, new in _pairs(base, candidate) if new < old]
    better += [sentence for more, sentence in kernel_changes(base, candidate) if not more]
    if worse:
        return StaticVerdict(REGRESSED, "; ".join(worse), (*notes, *better))
    if better:
        return StaticVerdict(IMPROVED, ", ".join(better), tuple(notes))
    return StaticVerdict(UNCHANGED, _unchanged_reason(base, candidate, noted=bool(notes)), tuple(notes))


def _wrong_result(candidate: StaticFigures) -> StaticVerdict | None:
    """The verdict on a candidate whose other figures are worthless: incorrect, or compiling in timed code."""
    if candidate.expected and candidate.passed:
        return StaticVerdict(INCORRECT, "declared to fail its contract, but passes it; take its expect= away")
    if not candidate.expected and candidate.state == "incorrect":
        contract = f"the contract {candidate.contract}" if candidate.contract else "its contract"
        return StaticVerdict(INCORRECT, candidate.reason or f"fails {contract}")
    if candidate.compiles > 0:
        times = "once" if candidate.compiles == 1 else f"{candidate.compiles} times"
        return StaticVerdict(
            INVALID,
            f"compiles in timed code, {times} in calls after the first; "
            "keep shapes, dtypes and static arguments the same from call to call",
        )
    return None


def _status_verdict(base: StaticFigures | None, candidate: StaticFigures) -> StaticVerdict:
    """The verdict where a side has nothing to compare, and the candidate is not wrong."""
    then = f"the base was {base.state} ({base.reason})" if base else "the base has no such case"
    if candidate.state == "ok":
        if base and base.state == "oom":
            return StaticVerdict(IMPROVED, f"fits now; {then}")
        return StaticVerdict(NEW, then)
    now = f"{candidate.state}: {candidate.reason}"
    if base is not None and base.state == candidate.state:
        return StaticVerdict(None, f"on both sides {now}")
    if candidate.state in {"crashed", "timeout", UNJUDGED}:
        return StaticVerdict(
            INVALID, f"{now}; {then if base is None or base.state != 'ok' else 'the base was ok'}"
        )
    if base is None or base.state != "ok":
        return StaticVerdict(None, f"{now}; {then}")
    return StaticVerdict(REGRESSED if candidate.state == "oom" else VANISHED, f"{now}; the base was ok")


def _contract_changes(base: StaticFigures, candidate: StaticFigures) -> list[tuple[str, str]]:
    if not base.contract == candidate.contract == "recall":
        return []
    old, new = base.contract_figures.get("recall"), candidate.contract_figures.get("recall")
    if not isinstance(old, int | float) or not old < 1 or new != 1:
        return []
    short = f"{old:.3g}" if f"{old:.3g}" != "1" else repr(old)
    return [("contract", f"approximates nothing any more: recall {short} -> 1")]


def _call_changes(base: StaticFigures, candidate: StaticFigures) -> list[tuple[str, str]]:
    old, new = set(base.custom_calls), set(candidate.custom_calls)
    joined = [f"custom call {call} joined: {OPAQUE}" for call in sorted(new - old)]
    left = [f"custom call {call} left: another program does its work" for call in sorted(old - new)]
    return [("custom_calls", what) for what in (*joined, *left)]


def _increases(base: StaticFigures, candidate: StaticFigures) -> list[tuple[str, ...]]:
    """The figures that increased; for memory, with the buffers that are new or larger."""
    increases: list[tuple[str, ...]] = []
    for name, old, new in _pairs(base, candidate):
        if new > old:
            buffers = change_sentences(changed_owners(base.owners, candidate.owners, name))
            increases.append((name, change(name, old, new), *buffers))
    return increases


def changed_owners(before: Owners | None, now: Owners | None, figure: str) -> list[OwnerChange]:
    """The buffers that are new or larger, of the kinds that a figure counts."""
    if before is None or now is None:
        return []
    kinds = MEMORY.get(figure, ())
    larger = (change for change in owner_changes(before, now) if change.bytes > 0)
    return [change for change in larger if change.now is not None and change.now.kind in kinds]


def kernel_changes(base: StaticFigures, candidate: StaticFigures) -> list[tuple[bool, str]]:
    """(whether it increased, `cuda:h100: attn: bytes spilled a thread 0 -> 1080, most at flash.py:19`).

    Kernels are matched by name and configuration; several that agree in both are matched in order.
    """
    changes: list[tuple[bool, str]] = []
    for target, before, kernel in kernel_pairs(base.kernels, candidate.kernels):
        for name, new in kernel.figures.items():
            old = before.figures.get(name, new)
            if old != new:
                place = kernel.most_spills if name == "spilled_bytes" and new > old else ""
                sentence = f"{target}: {kernel.label}: {EXACT_WORDS[name]} {old} -> {new}{place}"
                changes.append((new > old, sentence))
        if lost := kernel.lost_path(before):
            changes.append((True, f"{target}: {kernel.label} {lost}"))
        if kernel.refused and not before.refused:
            changes.append((True, f"{target}: {kernel.label} cannot be launched any more: {kernel.refused}"))
    return changes


def _pairs(base: StaticFigures, candidate: StaticFigures) -> list[tuple[str, float, float]]:
    """(figure, base's, candidate's) of every figure that both sides have from the same source."""
    pairs: list[tuple[str, float, float]] = []
    for name in EXACT_FIGURES:
        old, new = base.figures.get(name), candidate.figures.get(name)
        counted_alike = name != "flops" or base.flops_source == candidate.flops_source
        if old is not None and new is not None and counted_alike:
            pairs.append((name, old, new))
    return pairs


def _doubts(base: StaticFigures, candidate: StaticFigures) -> list[str]:
    """Notes on figures that cannot be compared any more, and on grids that became too small."""
    notes: list[str] = []
    for name in EXACT_FIGURES:
        old, new = base.figures.get(name), candidate.figures.get(name)
        if old is not None and new is None:
            why = candidate.unavailable.get(name, "not given")
            notes.append(f"{WORDS[name]} cannot be compared any more: {why}")
    notes += [
        f"{target}: {kernel.label} {kernel.idle.format(s='s')}, and did not before"
        for target, before, kernel in kernel_pairs(base.kernels, candidate.kernels)
        if kernel.idle and not before.idle and before.program
    ]
    notes += [
        f"kernels on {target} cannot be compared any more: the candidate launches none that compiles; "
        f"seqsweep static --target {target} says why"
        for target, kernels in base.kernels.items()
        if kernels and not candidate.kernels.get(target)
    ]
    sources = (base.flops_source, candidate.flops_source)
    if None not in sources and len(set(sources)) > 1:
        notes.append(f"FLOPs are counted in two ways ({sources[0]}, {sources[1]}) and not compared")
    if base.passed and candidate.passed is None:
        notes.append("the candidate's contract was not judged")
    elif None not in {base.contract, candidate.contract} and base.contract != candidate.contract:
        notes.append(f"the contract was {base.contract} and is {candidate.contract}: another result")
    return notes


def _unchanged_reason(base: StaticFigures, candidate: StaticFigures, *, noted: bool) -> str:
    """Why a case is unchanged.

    Equal programs do not imply equal figures: an eager torch call with the same operators may keep its
    storages longer. So the figures have been compared before this.
    """
    if base.program is not None and base.program == candidate.program:
        return SAME_PROGRAM
    if noted:
        return "nothing differs but what the notes say"
    pairs = kernel_pairs(base.kernels, candidate.kernels)
    if pairs and all(pair.before.program == pair.now.program for pair in pairs):
        return SAME_KERNELS
    if not pairs and not _pairs(base, candidate):
        return NO_FIGURES
    return SAME_FIGURES if base.program and candidate.program else "same figures"
