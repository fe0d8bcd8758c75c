"""The contract of a mask whose selection is free where visible scores tie at its cutoff."""

from __future__ import annotations

from harness import Contract, Evidence, Judgement


def exact_but_for_ties() -> Contract:
    """The reference says of every column: 1 open, 0 closed, 2 either; of rows with a 2, `topk` are open.

    Exact. A selection of the `topk` largest takes all columns above its cutoff, none below it, and
    as many of those that tie with it as there is room for. More than that only `threshold_raw`
    takes, which opens all that tie; so fewer than `topk` are wrong and more are counted. Closed is
    no more than the closed value: added to itself it is −inf. That every float has, so the dtype must
    be the mask's: half its width would be half the bytes to write.
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
            text = f"the result is {got.dtype}; a mask of {w.dtype} is asked for"
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
            reason = f"{int(wrong.sum())} columns differ; {place} is {value:g}, to be {wanted}"
        elif short.any():
            reason = f"{int(short.sum())} rows open fewer than topk {w.topk} though enough columns tie"
        return Judgement(not reason, figures, reason)

    return Contract("opened", judge, "every column as the reference has it; of ties at the cutoff enough")
