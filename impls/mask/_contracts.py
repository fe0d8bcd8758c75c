"""Contract of a mask if visible scores tie at the cutoff: which of the tied columns are open is free."""

from __future__ import annotations

from harness import Contract, Evidence, Judgement


def exact_but_for_ties() -> Contract:
    """The reference has 1 (open), 0 (closed) or 2 (either) per column; rows with a 2 open `topk` columns.

    Exact. A selection of the `topk` largest takes all columns above its cutoff, none below it, and ties until
    it is full. Only `threshold_raw` opens more, namely all ties; so fewer than `topk` are wrong and more are
    counted. Closed means at most the closed value: added to itself it is −inf. Every float dtype has −inf, so
    the result's dtype must be the mask's: half its width would be half the bytes to write.
    """

    def judge(evidence: Evidence) -> Judgement:
        import numpy as np

        from .reference import closed_value

        w, roles = evidence.workload, evidence.expected
        got = np.asarray(evidence.result)
        if got.shape != roles.shape:
            text = f"the result has shape {got.shape}; the reference has {roles.shape}"
            return Judgement(False, {"mismatches": None}, text)
        if got.dtype != closed_value(w.dtype).dtype:
            text = f"the result is {got.dtype}; the mask's dtype is {w.dtype}"
            return Judgement(False, {"mismatches": None}, text)
        is_open, is_closed = got == 0, got <= closed_value(w.dtype)
        wrong = ((roles == 1) & ~is_open) | ((roles == 0) & ~is_closed) | ~(is_open | is_closed)
        tied = (roles == 2).any(axis=-1)
        count = is_open.sum(axis=-1)
        short = tied & (count < w.topk)
        figures = {
            "mismatches": int(wrong.sum()),
            "tied_rows": int(tied.sum()),
            "rows_over_topk": int((count > w.topk).sum()),
        }
        reason = ""
        if wrong.any():
            place = [int(i) for i in np.unravel_index(int(np.argmax(wrong)), wrong.shape)]
            wanted = ("closed", "open", "either")[int(roles[tuple(place)])]
            value = float(got[tuple(place)])
            if evidence.rows is not None:
                place[1] = int(evidence.rows[place[1]])
            reason = f"{int(wrong.sum())} columns differ; {place} is {value:g}, expected {wanted}"
        elif short.any():
            reason = f"{int(short.sum())} rows open fewer than topk {w.topk} columns though enough tie"
        return Judgement(not reason, figures, reason)

    return Contract("opened", judge, "every column as in the reference; enough of those tied at the cutoff")
