"""Comparison of a case's static figures between two sides. They are exact, so it needs no statistics.

Any increase of a figure is a regression; a figure that one side lacks is not compared. An intended change of
a figure is accepted in bench.yaml with a reason, and becomes a note.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from harness.analysis.kernel_warnings import idle, slow_path
from harness.catalog.accelerators import target as target_of
from harness.core.kernel_figures import KERNEL_WORDS, TPU_KERNEL_WORDS, KernelFigures
from harness.core.record import UNJUDGED, Correctness
from harness.core.static_figures import EXACT_FIGURES, WORDS, AnyKernel, Static, change
from harness.gate.outcome import IMPROVED, INCORRECT, INVALID, NEW, REGRESSED, UNCHANGED, VANISHED

EXACT_WORDS = {**KERNEL_WORDS, **TPU_KERNEL_WORDS}
FASTER, SLOWER = ("wgmma", "tcgen05"), "mma"  # paths of matrix instructions

Kernels = Mapping[str, Sequence[AnyKernel]]  # by target


class KernelPair(NamedTuple):
    """One kernel in one configuration, on both sides."""

    target: str
    before: AnyKernel
    now: AnyKernel

    def __str__(self) -> str:
        return f"{self.target}: {self.now.label}"


def kernel_pairs(before: Kernels, now: Kernels) -> list[KernelPair]:
    """The kernels that both sides have, by target; kernels with one label are paired in call order."""
    known = dict(_by_place(before))
    return [KernelPair(at[0], known[at], kernel) for at, kernel in _by_place(now) if at in known]


def _by_place(by_target: Kernels) -> Iterator[tuple[tuple[str, str, int], AnyKernel]]:
    for target, kernels in by_target.items():
        counts: Counter[str] = Counter()
        for kernel in kernels:
            yield (target, kernel.label, counts[kernel.label]), kernel
            counts[kernel.label] += 1


def kernel_changes(pairs: Sequence[KernelPair]) -> list[tuple[bool, str]]:
    """(whether it is worse, `cuda:h100: attn: bytes spilled per thread 0 -> 1080, most at flash.py:19`)."""
    changes: list[tuple[bool, str]] = []
    for pair in pairs:
        for name, words in EXACT_WORDS.items():
            old, new = getattr(pair.before, name, None), getattr(pair.now, name, None)
            if old is not None and new is not None and old != new:
                place = _most_spills(pair.now) if name == "spilled_bytes" and new > old else ""
                changes.append((new > old, f"{pair}: {words} {old} -> {new}{place}"))
        if lost := _lost_path(pair):
            changes.append((True, f"{pair} {lost}"))
        if pair.now.refused and not pair.before.refused:
            changes.append((True, f"{pair} can no longer be launched: {pair.now.refused}"))
    return changes


def _most_spills(kernel: AnyKernel) -> str:
    """`, most at flash.py:19`; empty if no line is known."""
    places = kernel.spilled_at if isinstance(kernel, KernelFigures) else {}
    return f", most at {max(places, key=places.__getitem__)}" if places else ""


def _lost_path(pair: KernelPair) -> str:
    """`uses no …: matrix instructions wgmma 24 -> 0, mma 0 -> 96`; empty if no path was lost.

    Fewer instructions of a fast path are not a loss, because they may be larger.
    """
    _, before, now = pair
    if not (isinstance(before, KernelFigures) and isinstance(now, KernelFigures) and before.matrix_paths):
        return ""
    old, new = before.matrix_paths, now.matrix_paths or {}
    fewer = any(new.get(path, 0) < old.get(path, 0) for path in FASTER)
    moved = fewer and new.get(SLOWER, 0) > old.get(SLOWER, 0)
    slow = slow_path(now, target_of(pair.target))
    if not moved and slow in {"", slow_path(before, target_of(pair.target))}:
        return ""
    problem = slow.format(s="s") or "moves products to a slower path"
    counts = [f"{path} {old.get(path, 0)} -> {new.get(path, 0)}" for path in {**old, **new}]
    return f"{problem}: matrix instructions {', '.join(counts)}"


def newly_idle(pairs: Sequence[KernelPair]) -> list[str]:
    """Notes on grids that became too small for the GPU."""
    notes: list[str] = []
    for pair in pairs:
        if isinstance(pair.before, KernelFigures) and isinstance(pair.now, KernelFigures):
            gpu = target_of(pair.target)
            if (why := idle(pair.now, gpu)) and not idle(pair.before, gpu):
                notes.append(f"{pair} {why.format(s='s')}; the base did not")
    return notes


NO_FIGURES = "no figure is known on both sides; only the contract is compared"
OPAQUE = "the compiler cannot count it, or an approximation became exact"
UNMEASURED = ("contract", "custom_calls")  # changes without an amount, which may be intended
ACCEPTABLE = "if intended, accept {} in bench.yaml with a reason"

Accepted = Callable[[str], str | None]  # figure → the reason why its change is accepted


@dataclass(frozen=True)
class StaticSide:
    """Static figures and contract result of a case on one side; `kernels` are by target.

    `correctness` is None if no contract was checked. `compiles` counts compilations in calls after the first.
    `expected`: the case is marked to fail its contract.
    """

    static: Static
    kernels: Kernels = field(default_factory=dict[str, tuple[AnyKernel, ...]])
    correctness: Correctness | None = None
    compiles: int = 0
    status: str = "ok"
    reason: str | None = None
    expected: bool = False

    @property
    def passed(self) -> bool | None:
        return self.correctness.passed if self.correctness else None

    @property
    def contract(self) -> str | None:
        return self.correctness.contract if self.correctness else None

    @property
    def state(self) -> str:
        """The status, or `incorrect` if the contract failed, expected or not."""
        return "incorrect" if self.passed is False else self.status


class StaticVerdict(NamedTuple):
    """Verdict, its reason and notes. `verdict` is None for a case that runs on neither side."""

    verdict: str | None
    reason: str
    notes: tuple[str, ...] = ()


def compare(base: StaticSide | None, candidate: StaticSide, accept: Accepted | None) -> StaticVerdict:
    """The verdict on a case. `base` is None if the base does not have the case.

    Without `accept`, changes cannot be accepted, and reasons do not name bench.yaml.
    """
    verdict = _wrong_result(candidate)
    if verdict is not None:
        return verdict
    if base is None or base.state != "ok" or candidate.state != "ok":
        return _status_verdict(base, candidate)
    worse: list[str] = []
    notes: list[str] = []
    of_kernels = kernel_changes(kernel_pairs(base.kernels, candidate.kernels))
    changes = (
        *_contract_changes(base, candidate),
        *_call_changes(base, candidate),
        *((name, change(name, old, new)) for name, old, new in _pairs(base, candidate) if new > old),
        *(("kernels", sentence) for is_worse, sentence in of_kernels if is_worse),
    )
    for key, sentence in changes:
        why = accept(key) if accept else None
        if why is None:
            worse.append(sentence + (f"; {ACCEPTABLE.format(key)}" if accept and key in UNMEASURED else ""))
        else:
            notes.append(f"accepted: {sentence}: {why}")
    notes += _doubts(base, candidate)
    better = [change(name, old, new) for name, old, new in _pairs(base, candidate) if new < old]
    better += [sentence for is_worse, sentence in of_kernels if not is_worse]
    if worse:
        return StaticVerdict(REGRESSED, "; ".join(worse), (*notes, *better))
    if better:
        return StaticVerdict(IMPROVED, ", ".join(better), tuple(notes))
    return StaticVerdict(UNCHANGED, _unchanged_reason(base, candidate, noted=bool(notes)), tuple(notes))


def _wrong_result(candidate: StaticSide) -> StaticVerdict | None:
    """The verdict on a candidate that is incorrect or compiles in timed code, else None."""
    if candidate.expected and candidate.passed:
        return StaticVerdict(INCORRECT, "marked `expect=…` but passes its contract; remove the marker")
    if not candidate.expected and candidate.state == "incorrect":
        contract = f"the contract {candidate.contract}" if candidate.contract else "its contract"
        return StaticVerdict(INCORRECT, candidate.reason or f"fails {contract}")
    if candidate.compiles > 0:
        times = "once" if candidate.compiles == 1 else f"{candidate.compiles} times"
        return StaticVerdict(
            INVALID,
            f"compiles in timed code: {times} in calls after the first; "
            "use the same shapes, dtypes and static arguments in every call",
        )
    return None


def _status_verdict(base: StaticSide | None, candidate: StaticSide) -> StaticVerdict:
    """The verdict if one side cannot be compared, and the candidate is not wrong."""
    then = f"the base is {base.state} ({base.reason})" if base else "the base does not have this case"
    if candidate.state == "ok":
        if base and base.state == "oom":
            return StaticVerdict(IMPROVED, f"fits in memory now; {then}")
        return StaticVerdict(NEW, then)
    now = f"{candidate.state}: {candidate.reason}"
    if base is not None and base.state == candidate.state:
        return StaticVerdict(None, f"on both sides {now}")
    if candidate.state in {"crashed", "timeout", UNJUDGED}:
        return StaticVerdict(
            INVALID, f"{now}; {then if base is None or base.state != 'ok' else 'the base is ok'}"
        )
    if base is None or base.state != "ok":
        return StaticVerdict(None, f"{now}; {then}")
    return StaticVerdict(REGRESSED if candidate.state == "oom" else VANISHED, f"{now}; the base is ok")


def _contract_changes(base: StaticSide, candidate: StaticSide) -> list[tuple[str, str]]:
    results = (side.correctness for side in (base, candidate))
    old, new = (r.figures.get("recall") if r and r.contract == "recall" else None for r in results)
    if not isinstance(old, int | float) or not old < 1 or new != 1:
        return []
    short = f"{old:.3g}" if f"{old:.3g}" != "1" else repr(old)
    return [("contract", f"no longer an approximation: recall {short} -> 1")]


def _call_changes(base: StaticSide, candidate: StaticSide) -> list[tuple[str, str]]:
    old, new = set(base.static.custom_calls), set(candidate.static.custom_calls)
    joined = [f"new custom call {call}: {OPAQUE}" for call in sorted(new - old)]
    left = [f"custom call {call} was removed: other code replaces it" for call in sorted(old - new)]
    return [("custom_calls", what) for what in (*joined, *left)]


def _pairs(base: StaticSide, candidate: StaticSide) -> list[tuple[str, float, float]]:
    """(name, base's value, candidate's value) of every figure that both sides have from the same source."""
    pairs: list[tuple[str, float, float]] = []
    for name in EXACT_FIGURES:
        old, new = getattr(base.static, name), getattr(candidate.static, name)
        counted_alike = name != "flops" or base.static.flops_source == candidate.static.flops_source
        if old is not None and new is not None and counted_alike:
            pairs.append((name, old, new))
    return pairs


def _doubts(base: StaticSide, candidate: StaticSide) -> list[str]:
    """Notes on figures that cannot be compared, and on grids that became too small."""
    notes = [
        f"{WORDS[name]} cannot be compared: {candidate.static.unavailable.get(name, 'not given')}"
        for name in EXACT_FIGURES
        if getattr(base.static, name) is not None and getattr(candidate.static, name) is None
    ]
    notes += newly_idle(kernel_pairs(base.kernels, candidate.kernels))
    notes += [
        f"kernels on {target} cannot be compared: the candidate launches none that compiles; "
        f"run seqsweep static --target {target} for the reason"
        for target, kernels in base.kernels.items()
        if kernels and not candidate.kernels.get(target)
    ]
    sources = (base.static.flops_source, candidate.static.flops_source)
    if None not in sources and len(set(sources)) > 1:
        notes.append(f"FLOPs are not compared: they are counted in two ways ({sources[0]}, {sources[1]})")
    if base.passed and candidate.passed is None:
        notes.append("the candidate's contract was not checked")
    elif None not in {base.contract, candidate.contract} and base.contract != candidate.contract:
        notes.append(f"the contract changed from {base.contract} to {candidate.contract}")
    return notes


def _unchanged_reason(base: StaticSide, candidate: StaticSide, *, noted: bool) -> str:
    """Reason why a case is unchanged.

    Equal programs do not imply equal figures: an eager torch call with the same operators may free its
    storages later. So the figures were compared before this.
    """
    if base.static.program is not None and base.static.program == candidate.static.program:
        return "same program"
    if noted:
        return "no difference, except those in the notes"
    compared = kernel_pairs(base.kernels, candidate.kernels) or _pairs(base, candidate)
    return "same figures" if compared else NO_FIGURES
