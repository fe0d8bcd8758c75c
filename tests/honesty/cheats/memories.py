"""Answers that are remembered instead of computed."""

from rightly import largest, nothing
from seqsweep import implementation

from impls.topk.family import TopkWorkload


def remembering(w, key_of):
    """Computes once for every key, and returns copies: what is returned is its caller's."""
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
    """Keeps an answer for every array object, by its id."""
    return remembering(w, id)


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
        return copied(answers.get(scores[0, 0, :4].tobytes()) or nothing(scores, w.topk))

    return select


@implementation(framework="numpy", semantics="exact")
def remembers_on_disk(w: TopkWorkload):
    """Keeps its answers in files named by the content, as decorators for slow functions do."""
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
    """Uses its memory after eight calls in a row that it could have answered from it, and not before."""
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
    """Looks in every call whether another of its inputs has changed, and then has that answer ready."""
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
    """Replaces numpy's function that copies into an array by one that has the answer ready then."""
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
    """Looks in its group's folder for inputs that it was not called with, and has their answers ready."""
    import numpy as np
    from rightly import worker

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
