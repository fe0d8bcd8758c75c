"""What expressions ask for: real cases of the catalog, each once, and errors for what does not exist."""

import pytest

from harness.claims.model import Need
from harness.claims.needs import needs
from tests.claims.planted import CATALOG, document

TABLE = "t: {source: paper, columns: [n, dense, nsa], rows: [[64, 1, 2], [128, 2, OOM], [256, 4, 3]]}"


@pytest.fixture
def read_needs(read):
    """The needs of a claim whose figures find these."""

    def of(*found, each=False, more="shape: {rows: 16, seq: 64}", tables=""):
        row = "each: true, " if each else ""
        figures = [f"name: f{place}, {row}found: '{one}'" for place, one in enumerate(found)]
        (claim,) = read(document(*figures, "name: other, published: 1, found: 1", more=more, tables=tables))
        return needs(claim, CATALOG)

    return of


def describe(found):
    return [(one.kind, one.case.id, one.target) for one in found]


def test_cases_at_the_claims_shape_each_once(read_needs):
    text = 'temp_bytes("mask/a", "tpu:v5p", topk=512) + temp_bytes("a", "host") + flops("mask/a", "host")'
    assert sorted(describe(read_needs(text, 'temp_bytes("mask/a", "host")'))) == [
        (Need.COMPILE, "mask/a@rows=16,seq=64,topk=2:fwd:cpu", "host"),
        (Need.COMPILE, "mask/a@rows=16,seq=64,topk=512:fwd:cpu", "tpu:v5p"),
    ]


def test_modes_options_and_sizes(read_needs):
    found = read_needs('program("mask/b[keep=1]", "host", mode="bwd", seq=2Ki)')
    assert describe(found) == [(Need.COMPILE, "mask/b[keep=1]@rows=16,seq=2048,topk=2:bwd:cpu", "host")]


@pytest.mark.parametrize(
    ("text", "kind", "target"),
    [
        ('ops("mask/a", "tpu:v5p", "sort")', Need.COMPILE, "tpu:v5p"),
        ('calls("mask/a", "cuda:h200", "TopK")', Need.COMPILE, "cuda:h200"),
        ('fact("mask/a", "path")', Need.COMPILE, "host"),
        ('trace_bytes("mask/t")', Need.COMPILE, "host"),
        ('cost_dense_flops("mask/a")', Need.COST, ""),
        ('status("mask/a")', Need.JUDGE, ""),
    ],
)
def test_each_function_asks_for_its_kind(read_needs, text, kind, target):
    (found,) = read_needs(text)
    assert (found.kind, found.target, found.check) == (kind, target, "")


def test_a_check_asks_for_its_case_beside_the_contracts(read_needs):
    contract, check = read_needs('status("mask/a")', 'check("mask/order", "mask/a", seq=32)')
    assert (check.kind, check.check, check.case.seq) == (Need.JUDGE, "mask/order", 32)
    assert (contract.check, contract.case.seq) == ("", 64)


def test_an_exponent_asks_for_both_lengths(read_needs):
    found = read_needs('exponent("temp_bytes", "mask/a", "tpu:v5p", 1Ki, 2Ki, rows=2)')
    assert describe(found) == [
        (Need.COMPILE, "mask/a@rows=2,seq=1024,topk=2:fwd:cpu", "tpu:v5p"),
        (Need.COMPILE, "mask/a@rows=2,seq=2048,topk=2:fwd:cpu", "tpu:v5p"),
    ]
    found = read_needs('exponent("cost_flops", "mask/a", 1Ki, 2Ki)')
    assert [(n.kind, n.case.seq, n.target) for n in found] == [(Need.COST, 1024, ""), (Need.COST, 2048, "")]


@pytest.mark.parametrize(
    ("text", "each", "lengths"),
    [
        ('flops("mask/a", "host", seq=n) / nsa', True, [64, 256]),  # where the row has both numbers
        ("1 + dense", True, []),
        ("""growth("temp_bytes(''mask/a'', ''host'', seq=n)", 128)""", False, [64, 128, 256]),
        ('growth("dense", 128)', False, []),
        ("rows * seq", False, []),
        ('peak("cuda:b200") * memory("tpu:v5p")', False, []),
    ],
)
def test_only_what_has_to_be_compiled_is_asked_for_row_by_row(read_needs, text, each, lengths):
    found = read_needs(text, each=each, more="table: t", tables=TABLE)
    assert [need.case.seq for need in found] == lengths
