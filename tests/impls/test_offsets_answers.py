"""Every implementation on golden vectors, kinds, layouts and rows by hand: right, refused or known wrong."""

import inspect
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import yaml

from harness import Unsupported
from harness.catalog.known_frameworks import traits_of
from impls.offsets._checks_golden import PLACES, SEQ, VECTORS, answer_of, inputs_of
from impls.offsets._run_starts import boundaries
from impls.offsets.family import FAMILY, OffsetsWorkload
from impls.offsets.run_length import most_runs, run_length
from tests.impls.jax_case import jit
from tests.impls.offsets_case import BLIND, KINDS, LAYOUTS, call, judged, reference, spelled, written
from tests.impls.variants import OFFSETS as V

pytestmark = [pytest.mark.jax, pytest.mark.torch]

KNOWN = yaml.safe_load(Path(__file__).with_name("offsets.yaml").read_text())
W = OffsetsWorkload(batch=2, seq=256, max_segments=16, window=9)
OF_THE_VECTORS = ("causal", "bottom_right", "padding")


def test_every_implementation_of_this_process_has_its_marks():
    assert KNOWN.keys() == {
        name
        for name, variant in vars(V).items()
        if variant.semantics == "exact" and not traits_of(variant.framework).interpreted_on
    }


@pytest.mark.parametrize("name", [name for name in KNOWN if name != "fast_causal"])
def test_the_golden_vectors_have_their_answers_or_the_known_wrong_ones(name):
    wrong = {
        (vector, kind): answer
        for vector, answers in KNOWN[name].get("answers", {}).items()
        for kinds, answer in answers.items()
        for kind in kinds.split()
    }
    for kind in OF_THE_VECTORS:
        w = OffsetsWorkload(batch=len(VECTORS), seq=SEQ, max_segments=PLACES, kind=kind)
        result = call(getattr(V, name), w, inputs_of([*VECTORS]))
        for row, vector in enumerate(VECTORS):
            right = spelled([[part] for part in answer_of(vector, kind)])
            assert spelled(result, row) == wrong.get((vector, kind), right), (vector, kind)


@cache
def drawn(layout, seed):
    return FAMILY.inputs(replace(W, layout=layout), np.random.default_rng([seed, 7]))


def mark(variant, w, seed):
    """The expected outcome of an implementation there, from offsets.yaml."""
    try:
        variant(w)
    except Unsupported:
        return "-"
    result = call(variant, w, drawn(w.layout, seed))
    assert [part.shape for part in result] == [(2, 16), (2, 16), (2, 17), (2, 17)]
    assert {part.dtype for part in result} == {np.dtype(np.int32)}
    return "." if judged(w, drawn(w.layout, seed), result).passed else "x"


@pytest.mark.parametrize("name", KNOWN)
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_and_layout_is_right_refused_or_meant_to_fail(name, kind):
    variant, marks = getattr(V, name), KNOWN[name]["marks"][kind]
    points = [replace(W, kind=kind, layout=layout) for layout in LAYOUTS]
    for seed in range(3):
        assert "".join(mark(variant, w, seed) for w in points) == marks
    if marks != "-----":
        expect = variant.expect
        assert [bool(expect and expect.when(w)) for w in points] == [one == "x" for one in marks]
        parameters = inspect.signature(variant(points[0])).parameters
        assert ("positions_q" not in parameters) == (name in BLIND), "one program serves every kind"


ROWS = [(name, row) for name, known in KNOWN.items() for row in known.get("rows", ())]


@pytest.mark.parametrize(("name", "fields"), ROWS)
def test_rows_by_hand(name, fields):
    fields = {"max_segments": PLACES, "right": fields["answer"], **fields}
    inputs, answer, right = written(fields.pop("row")), fields.pop("answer"), fields.pop("right")
    w = OffsetsWorkload(seq=inputs["segment_ids_kv"].shape[1], **fields)
    assert spelled(reference(w, inputs)) == right
    assert spelled(call(getattr(V, name), w, inputs)) == answer


@pytest.mark.parametrize(("block", "seq"), [(16, 1), (16, 2049), (48, 2048), (64, 100)])
def test_run_boundaries_however_dense_the_changes_are(block, seq):
    """A change at every token, several in a block, one in many blocks, none; ids of any size."""
    first = jit(lambda ids: boundaries(ids, 66, block))
    random = np.random.default_rng(seq)
    sizes = [0, 1, -1, 2**31 - 1, -(2**31)]
    for values, length in ((3, 1), (3, 7), (2, 40), (5, 300), (1, 1)):
        ids = random.choice(sizes[:values], seq).repeat(length)[:seq].astype(np.int32)
        places = np.flatnonzero(np.diff(ids, prepend=~ids[:1]))[:66]
        assert first(ids).tolist() == [*places, *[seq] * (66 - len(places))]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_no_layout_has_more_runs_than_are_found(layout):
    for seed in range(20):
        w = OffsetsWorkload(batch=4, seq=64 + seed, max_segments=1 + seed % 16 + (layout == "absent"))
        inputs = FAMILY.inputs(replace(w, layout=layout), np.random.default_rng(seed))
        for ids in (inputs["segment_ids_q"], inputs["segment_ids_kv"]):
            runs = 1 + (np.diff(ids, axis=1) != 0).sum(axis=1)
            assert runs.max() <= most_runs(w) == run_length.facts(w, None, {})["most_runs_of_a_row"]
