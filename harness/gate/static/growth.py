"""Growth of static figures with the length, which no single case shows.

A figure that is smaller at every measured length, or accepted there, may still grow with a larger exponent
and so be larger at the next length.
"""

from collections.abc import Callable, Mapping

from harness.analysis.scaling import fit
from harness.core.case import Case
from harness.core.grouped import grouped
from harness.core.static_figures import WORDS
from harness.gate.outcome import IMPROVED, REGRESSED, UNCHANGED
from harness.gate.static.diff import MEANT, StaticFigures, StaticVerdict, compare

GROWING = ("flops", "bytes_accessed", "temp_bytes")
STEP = 0.005  # exponents are compared as they are printed, at two decimals

Pairs = Mapping[Case, tuple[StaticFigures | None, StaticFigures]]
AcceptedByCase = Callable[[str, str], str | None]  # (case id, figure) → why its change is accepted


def judge(pairs: Pairs, accept: AcceptedByCase) -> dict[str, StaticVerdict]:
    """The verdict on every case by id: on its figures and, for the longest of a series, on their growth."""
    verdicts = {
        case.id: compare(base, candidate, lambda figure, case=case: accept(case.id, figure))
        for case, (base, candidate) in pairs.items()
    }
    for case, growth in exponents(pairs, accept).items():
        verdicts[case] = _join_verdicts(verdicts[case], growth)
    return verdicts


def exponents(pairs: Pairs, accept: AcceptedByCase) -> dict[str, StaticVerdict]:
    """Verdicts on growth, by the longest case of each series in which an exponent exceeds the base's.

    The verdict is None where the growth is accepted, with the reason in its notes.
    """
    known = {
        case: (base, candidate)
        for case, (base, candidate) in pairs.items()
        if base is not None and base.state == candidate.state == "ok"
    }
    verdicts: dict[str, StaticVerdict] = {}
    for cases in grouped(sorted(known, key=lambda case: case.seq), lambda case: case.series).values():
        case, lengths = cases[-1].id, {case.seq: known[case] for case in cases}
        sentences = [text for figure in GROWING if (text := _growth_sentence(figure, lengths))]
        why = accept(case, "exponent") if sentences else None
        if sentences and why is None:
            verdicts[case] = StaticVerdict(REGRESSED, f"{', '.join(sentences)}; {MEANT.format('exponent')}")
        elif sentences:
            verdicts[case] = StaticVerdict(None, "accepted", (f"accepted: {', '.join(sentences)}: {why}",))
    return verdicts


def _growth_sentence(figure: str, lengths: Mapping[int, tuple[StaticFigures, StaticFigures]]) -> str | None:
    """`temp grows as seq^2.00, the base's as seq^1.00`, fitted over the lengths where both sides have it."""
    both: dict[int, tuple[float, float]] = {}
    for seq, (base, candidate) in lengths.items():
        if figure == "flops" and base.flops_source != candidate.flops_source:
            continue
        old, new = base.figures.get(figure), candidate.figures.get(figure)
        if old and new:  # a power law has no zeros
            both[seq] = old, new
    if len(both) < 2:
        return None
    before, now = (round(fit({seq: pair[side] for seq, pair in both.items()})[0], 2) for side in (0, 1))
    if now - before <= STEP:
        return None
    verb = "grow" if figure != "temp_bytes" else "grows"
    return f"{WORDS[figure]} {verb} as seq^{now:.2f}, the base's as seq^{before:.2f}"


def _join_verdicts(verdict: StaticVerdict, growth: StaticVerdict) -> StaticVerdict:
    """The verdict on a case joined with that on the growth of its series."""
    notes = (*verdict.notes, *growth.notes)
    if growth.verdict is None:
        return verdict._replace(notes=notes)
    if verdict.verdict == REGRESSED:
        return StaticVerdict(REGRESSED, f"{verdict.reason}; {growth.reason}", notes)
    if verdict.verdict in {IMPROVED, UNCHANGED}:
        return StaticVerdict(REGRESSED, growth.reason, (*notes, verdict.reason))
    return verdict._replace(notes=(*notes, growth.reason))  # incorrect and invalid outweigh growth
