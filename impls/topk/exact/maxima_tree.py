"""A tree of maxima on the host: groups' largest scores, groups of those, and back down along the k largest.

The k groups with the largest maxima have the k largest scores: each of them has a score at least as large as
any in the other groups. So the k largest of a level are among k·`fanout` candidates of the level below. The
row itself is read once, at memory speed, to take maxima. Exact for any fanout; a tournament sort keeps such a
tree for one winner at a time (Knuth, TAOCP 3, 5.2.3). Maxima ignore a NaN: it is selected only if its group
is. Groups are columns a stride apart.
"""

from harness import Unsupported, implementation, stage

from ..workload import TopkWorkload

ROOM = 8  # scores of the topmost level per selected score: with fewer, nearly every group would be selected


@implementation(framework="numpy", semantics="exact")
def maxima_tree(w: TopkWorkload, *, fanout: int = 8):
    import numpy as np

    if fanout < 2:
        raise Unsupported(f"groups of {fanout} do not form a tree; use a fanout of at least 2")
    rows, widths = w.batch * w.rows, [w.seq]
    while widths[-1] % fanout == 0 and widths[-1] // fanout >= ROOM * w.topk:
        widths.append(widths[-1] // fanout)
    if len(widths) == 1:
        raise Unsupported(f"no {fanout}th of seq {w.seq} has {ROOM} · topk {w.topk} scores; use partition")
    wide = w.dtype in {"bf16", "f16"}  # numpy compares these one by one
    row, steps = np.arange(rows)[:, None], np.arange(fanout)[:, None]

    def largest(level):
        return level.argpartition(-w.topk, axis=1)[:, -w.topk :]

    def select(scores):
        levels = [scores.reshape(rows, w.seq)]
        if wide:
            levels = [levels[0].astype(np.float32)]
        with stage("maxima"):
            for width in widths[1:]:
                levels.append(np.fmax.reduce(levels[-1].reshape(rows, fanout, width), axis=1))
        with stage("select"):
            kept = largest(levels.pop())
        for level, width in zip(reversed(levels), reversed(widths[1:]), strict=True):
            with stage("gather"):
                members = (kept[:, None] + width * steps).reshape(rows, -1)
                held = level.reshape(-1).take(members + row * level.shape[1])
            with stage("select"):
                kept = members.reshape(-1).take(largest(held) + row * members.shape[1])
        with stage("gather"):
            values = scores.reshape(-1).take(kept + row * w.seq)
        shape = (w.batch, w.rows, w.topk)
        return values.reshape(shape), kept.reshape(shape)

    return select
