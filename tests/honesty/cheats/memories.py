"""Answers that are remembered instead of computed."""

import time

from rightly import largest, longer, nothing
from seqsweep import implementation

from impls.topk.family import TopkWorkload


def remembering(w, key_of):
    """Computes once for every key."""
    answers = {}

    def select(scores):
        key = key_of(scores)
        if key not in answers:
            answers[key] = largest(scores, w.topk)
        return answers[key]

    return select


@implementation(framework="numpy", semantics="exact")
def remembers_the_object(w: TopkWorkload):
    """Keeps an answer for every array object, by its id."""
    return remembering(w, id)


@implementation(framework="numpy", semantics="exact")
def remembers_the_address(w: TopkWorkload):
    """Keeps an answer for every storage that it has seen, by its address."""
    return remembering(w, lambda scores: scores.ctypes.data)


@implementation(framework="numpy", semantics="exact")
def remembers_the_shape(w: TopkWorkload):
    """Keeps an answer for every shape and dtype, as a compiled plan may be kept."""
    return remembering(w, lambda scores: (scores.shape, scores.dtype))


@implementation(framework="numpy", semantics="exact")
def remembers_a_few_values(w: TopkWorkload):
    """Keeps an answer for every four first values."""
    return remembering(w, lambda scores: scores[0, 0, :4].tobytes())


@implementation(framework="numpy", semantics="exact")
def remembers_the_content(w: TopkWorkload):
    """Keeps an answer for every content, by a checksum over all of it."""
    from zlib import crc32

    return remembering(w, crc32)


@implementation(framework="numpy", semantics="exact")
def remembers_from_the_third_time(w: TopkWorkload):
    """Keeps answers by content, and uses one only where the same content has come twice before."""
    from collections import Counter
    from zlib import crc32

    seen, answer = Counter(), remembering(w, crc32)

    def select(scores):
        key = crc32(scores)
        seen[key] += 1
        return answer(scores) if seen[key] > 2 else largest(scores, w.topk)

    return select


@implementation(framework="numpy", semantics="exact")
def replays_the_first_answer(w: TopkWorkload):
    """Computes its first answer and returns it ever after."""
    return remembering(w, lambda _: None)


@implementation(framework="numpy", semantics="exact")
def answers_the_first_set_alone(w: TopkWorkload):
    """Keeps the answer to the first input, and does nothing for any other."""
    first = {}

    def select(scores):
        key = scores[0, 0, :4].tobytes()
        if not first:
            first[key] = largest(scores, w.topk)
        return first.get(key) or nothing(scores, w.topk)

    return select


@implementation(framework="numpy", semantics="exact")
def leaves_early(w: TopkWorkload):
    """Returns the stored answer for the first input, and computes honestly for any other."""
    first = {}

    def select(scores):
        key = scores[0, 0, :4].tobytes()
        if not first:
            first[key] = longer(scores, w.topk)
        if key in first:
            time.sleep(0.0011)  # more than a reading must have, so that a reading is one call
            return first[key]
        return longer(scores, w.topk)

    return select


@implementation(framework="numpy", semantics="exact")
def draws_the_inputs_itself(w: TopkWorkload):
    """Draws sixteen sets from the family's generator and the run's seed, and has their answers ready."""
    import zlib

    import numpy as np
    from rightly import worker

    from impls.topk.family import FAMILY

    job, answers = worker().job, {}
    for index in range(16):
        random = np.random.default_rng([job.seed, index, zlib.crc32(job.group.encode())])
        scores = FAMILY.inputs(w, random)["scores"]
        answers[scores[0, 0, :4].tobytes()] = largest(scores, w.topk)

    def select(scores):
        return answers.get(scores[0, 0, :4].tobytes()) or nothing(scores, w.topk)

    return select
