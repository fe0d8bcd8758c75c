"""Cached results."""

from seqsweep import implementation
from shared_functions import largest, nothing

from impls.topk.family import TopkWorkload


def caching(w, key_of):
    """Computes once for every key, and returns copies, which the caller may change."""
    answers = {}

    def select(scores):
        key = key_of(scores)
        if key not in answers:
            answers[key] = largest(scores, w.topk)
        return copied(answers[key])

    return select


def copied(answer):
    return tuple(part.copy() for part in answer)


@implementation(framework="numpy", semantics="exact")
def remembers_the_object(w: TopkWorkload):
    """Caches a result per array object, by its id."""
    return caching(w, id)


@implementation(framework="numpy", semantics="exact")
def remembers_the_address(w: TopkWorkload):
    """Caches a result per storage address."""
    return caching(w, lambda scores: scores.ctypes.data)


@implementation(framework="numpy", semantics="exact")
def remembers_the_shape(w: TopkWorkload):
    """Caches a result per shape and dtype, as a compiled plan may be cached."""
    return caching(w, lambda scores: (scores.shape, scores.dtype))


@implementation(framework="numpy", semantics="exact")
def remembers_a_few_values(w: TopkWorkload):
    """Caches a result per first four values."""
    return caching(w, lambda scores: scores[0, 0, :4].tobytes())


@implementation(framework="numpy", semantics="exact")
def remembers_the_content(w: TopkWorkload):
    """Caches a result per input content, by a checksum of all values."""
    from zlib import crc32

    return caching(w, crc32)


@implementation(framework="numpy", semantics="exact")
def remembers_from_the_third_time(w: TopkWorkload):
    """Caches by content, and uses an entry from the third call with that content."""
    from collections import Counter
    from zlib import crc32

    seen, answer = Counter(), caching(w, crc32)

    def select(scores):
        key = crc32(scores)
        seen[key] += 1
        return answer(scores) if seen[key] > 2 else largest(scores, w.topk)

    return select


@implementation(framework="numpy", semantics="exact")
def replays_the_first_answer(w: TopkWorkload):
    """Computes one result and returns it from every call."""
    return caching(w, lambda _: None)


@implementation(framework="numpy", semantics="exact")
def answers_the_first_set_alone(w: TopkWorkload):
    """Stores the result for the first input, and computes nothing for others."""
    first = {}

    def select(scores):
        key = scores[0, 0, :4].tobytes()
        if not first:
            first[key] = largest(scores, w.topk)
        return first.get(key) or nothing(scores, w.topk)

    return select


@implementation(framework="numpy", semantics="exact")
def draws_the_inputs_itself(w: TopkWorkload):
    """Draws sixteen input sets from the run's seed, and prepares their results."""
    import zlib

    import numpy as np
    from shared_functions import worker

    from impls.topk.family import FAMILY

    job, answers = worker().job, {}
    for index in range(16):
        random = np.random.default_rng([job.seed, index, zlib.crc32(job.group.encode())])
        scores = FAMILY.inputs(w, random)["scores"]
        answers[scores[0, 0, :4].tobytes()] = largest(scores, w.topk)

    def select(scores):
        return copied(answers.get(scores[0, 0, :4].tobytes()) or nothing(scores, w.topk))

    return select


@implementation(framework="numpy", semantics="exact")
def remembers_on_disk(w: TopkWorkload):
    """Caches results in files named by a hash of the content."""
    import tempfile
    from hashlib import sha256
    from pathlib import Path

    import numpy as np

    folder = Path(tempfile.mkdtemp())

    def select(scores):
        values, indices = (folder / f"{sha256(scores).hexdigest()}{part}.npy" for part in "vi")
        if not values.exists():
            for file, part in zip((values, indices), largest(scores, w.topk), strict=True):
                np.save(file, part)
        return np.load(values), np.load(indices)

    return select


@implementation(framework="numpy", semantics="exact")
def remembers_when_nobody_looks(w: TopkWorkload):
    """Caches by content, and uses the cache only after eight consecutive cache hits."""
    answers, row = {}, [0]

    def select(scores):
        key = scores[0, 0, :4].tobytes()
        known = key in answers
        row[0] = row[0] + 1 if known else 0
        if not known or row[0] <= 8:
            answers[key] = largest(scores, w.topk)
        return copied(answers[key])

    return select


@implementation(framework="numpy", semantics="exact")
def looks_ahead(w: TopkWorkload):
    """Checks in every call whether another input has changed, and prepares its result."""
    known = {}

    def select(scores):
        if id(scores) not in known:
            known[id(scores)] = [scores, b"", None]
        for each in known.values():
            key = each[0][0, 0, :4].tobytes()
            if key != each[1]:
                each[1:] = key, largest(each[0], w.topk)
        return copied(known[id(scores)][2])

    return select


@implementation(framework="numpy", semantics="exact")
def spies_on_the_refilling(w: TopkWorkload):
    """Replaces numpy's copy function with one that prepares the result."""
    import numpy as np

    copyto, answers = np.copyto, {}

    def refilled(target, source, *more, **named):
        copyto(target, source, *more, **named)
        answers[id(target)] = largest(target, w.topk)

    def select(scores):
        if id(scores) not in answers:
            answers[id(scores)] = largest(scores, w.topk)
        return copied(answers[id(scores)])

    np.copyto = refilled
    return select


@implementation(framework="numpy", semantics="exact")
def reads_the_inputs_to_come(w: TopkWorkload):
    """Reads the group's folder for inputs of later calls, and prepares their results."""
    import numpy as np
    from shared_functions import worker

    folders, answers = set(), {}

    def select(scores):
        folder = worker().folder
        for path in folder.glob("*/0.raw"):
            if path not in folders:
                folders.add(path)
                drawn = np.fromfile(path, np.float32)
                if drawn.size == scores.size:
                    drawn = drawn.reshape(scores.shape)
                    answers[drawn[0, 0, :4].tobytes()] = largest(drawn, w.topk)
        return copied(answers.get(scores[0, 0, :4].tobytes()) or nothing(scores, w.topk))

    return select
