"""An author's own semantics are read as data, and refused with file and line."""

import pytest
from seqsweep import recall, within

from harness.catalog.build import with_own_semantics
from harness.catalog.catalog import Catalog
from harness.catalog.discovery import describe_module
from harness.catalog.implementation import OwnSemantics, implementation
from harness.catalog.loading import load
from harness.core.errors import UsageError
from harness.core.record import Cost
from impls.topk.family import FAMILY, TopkWorkload

HEAD = """from impls.topk.family import TopkWorkload
from seqsweep import Contract, OwnSemantics, exact, implementation, recall, within
def every(w, rows):
    return lambda scores: scores
"""


def builder(name, semantics):
    return f"""
@implementation(framework="numpy", semantics={semantics})
def {name}(w: TopkWorkload):
    return lambda scores: scores
"""


@pytest.fixture
def read(tmp_path):
    def read(*builders, name="mine.py"):
        (tmp_path / name).write_text(HEAD + "".join(builder(*words) for words in builders))
        path = str(tmp_path / name)
        return describe_module(load(path), path).implementations

    return read


def test_implementations_may_share_a_named_semantics(read):
    infos = read(("one", '(S := OwnSemantics(exact(), every, name="all"))'), ("two", "S"))
    assert {info.semantics for info in infos.values()} == {"all"}


def test_a_name_has_one_meaning(read, tmp_path):
    text = 'OwnSemantics(exact(), every, name="all")'
    with pytest.raises(UsageError, match='semantics "all" is defined twice in this file'):
        read(("one", text), ("two", text))
    mine = Catalog({}, read(("one", text), name="a.py"))
    with pytest.raises(
        UsageError, match=r'semantics "all" of family topk is defined twice, in .*a\.py and .*b\.py'
    ):
        mine.merged(Catalog({}, read(("two", text), name="b.py")))


def test_the_familys_semantics_do_not_change():
    @implementation(framework="numpy", semantics=recall(at_least=0.9))
    def near(w: TopkWorkload):
        return lambda scores: scores

    extended = with_own_semantics(FAMILY, [near])
    assert list(extended.semantics) == [*FAMILY.semantics, "near"]
    assert all(extended.semantics[name] is meaning for name, meaning in FAMILY.semantics.items())
    assert extended.semantics["near"].reference is FAMILY.semantics["exact"].reference
    assert extended.semantics["near"].contract.bound == "recall ≥ 0.9"


def test_the_cost_is_the_authors_or_missing():
    """The family's would be that of another meaning."""
    w = TopkWorkload(seq=256, topk=8)
    meaning = OwnSemantics(within(rel_rms=0.1), lambda w, rows: None, cost=lambda w: Cost(flops=w.seq))

    @implementation(framework="numpy", semantics=meaning)
    def counted(w: TopkWorkload):
        return lambda scores: scores

    @implementation(framework="numpy", semantics=within(rel_rms=0.1))
    def uncounted(w: TopkWorkload):
        return lambda scores: scores

    extended = with_own_semantics(FAMILY, [counted, uncounted])
    assert extended.cost_of("counted", w) == Cost(flops=256)
    assert extended.cost_of("uncounted", w) == Cost()
    assert FAMILY.cost_of("exact", w) != Cost()
