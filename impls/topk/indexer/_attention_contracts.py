"""Contracts of stage `attention`: the selection as in stage `indexer`, and attention over it.

An answer includes its selection. That is judged first. Then the result must be the attention over exactly
those columns, so a near tie or an approximate selection does not make a right result wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from harness import Contract, Evidence, Judgement, tolerance

from ._attention import ATTENDED, attended_at, shares_at
from ._indexer_contracts import EXACT_SCORED, RECALL_SCORED


def _judge(selection: Contract, *, mass: bool) -> Callable[[Evidence], Judgement]:
    def judge(evidence: Evidence) -> Judgement:
        import numpy as np

        result = evidence.result
        if not isinstance(result, (tuple, list)) or len(result) != 3:
            return Judgement(False, {"mismatches": None}, "the result is not (attended, values, indices)")
        chosen = selection.judge(replace(evidence, result=result[1:], expected=evidence.expected[1:]))
        if not chosen.passed:
            return chosen
        w, indices = evidence.workload, np.asarray(result[2])
        rows = np.arange(w.rows) if evidence.rows is None else evidence.rows
        want = attended_at(evidence.inputs, rows, indices)
        of_columns = tolerance(ATTENDED).judge(replace(evidence, result=result[0], expected=want))
        figures = {**chosen.figures, **of_columns.figures}
        figures["largest_error_of_allowed"] = max(
            float(part.figures["largest_error_of_allowed"] or 0) for part in (chosen, of_columns)
        )
        if mass:
            figures["attention_mass"] = _mass(evidence, rows, indices)
        return Judgement(of_columns.passed, figures, of_columns.reason)

    return judge


def _mass(evidence: Evidence, rows: Any, indices: Any) -> float:
    """The share of the attention to the true selection that went to columns that were found: a mean."""
    import numpy as np

    best = np.asarray(evidence.expected[2])
    kept = []
    for batch, place in np.ndindex(best.shape[:2]):
        shares = shares_at(evidence.inputs, batch, rows[place], best[batch, place])
        held = np.isin(best[batch, place], indices[batch, place])
        kept.append((shares[:, held].sum(-1) / shares.sum(-1)).mean())
    return float(np.mean(kept))


WITHIN = tolerance(ATTENDED).bound
ATTENDED_EXACT = Contract("attended", _judge(EXACT_SCORED, mass=False), f"{EXACT_SCORED.bound}; {WITHIN}")
ATTENDED_RECALL = Contract(
    "attended_recall", _judge(RECALL_SCORED, mass=True), f"{RECALL_SCORED.bound}; {WITHIN}"
)
