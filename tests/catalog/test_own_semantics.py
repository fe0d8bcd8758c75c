"""What an implementation's author brings: read as data, and refused with file and line."""

import pytest
from seqsweep import recall, within

from harness.catalog.bounds import Limit, Promise
from harness.catalog.build import with_own_semantics, with_promise
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


@pytest.mark.parametrize(
    ("semantics", "bound", "reference_framework"),
    [
        ("recall(at_least=0.9)", "recall ≥ 0.9 against the reference of exact", "numpy"),
        (
            'OwnSemantics(within(rel_rms=1e-3), "recall")',
            "rel rms ≤ 0.001 against the reference of recall",
            "numpy",
        ),
        (
            'OwnSemantics(within(rel_rms=0.5), every, framework="torch")',
            "rel rms ≤ 0.5 against a reference of its own",
            "torch",
        ),
        ("OwnSemantics(exact(), every)", "exact against a reference of its own", "numpy"),
        (
            'OwnSemantics(Contract("exact", lambda evidence: None), "exact")',
            'a contract of its own, called "exact", against the reference of exact',
            "numpy",
        ),
    ],
)
def test_its_bound_is_said_with_the_reference_that_it_is_against(read, semantics, bound, reference_framework):
    info = read(("mine", semantics))["topk/mine"]
    assert (info.semantics, info.bounds["fwd"], info.reference_framework) == (
        "mine",
        bound,
        reference_framework,
    )
    assert info.bounds["bwd"].startswith("none of gradients")


@pytest.mark.parametrize(
    ("semantics", "promise"),
    [
        ("recall(at_least=0.9)", Promise("exact", Limit("recall", 0.9))),
        (
            'OwnSemantics(within(rel_rms=0.1), "recall", gradient=within(rel_rms=0.2))',
            Promise("recall", Limit("within", 0.1), Limit("within", 0.2)),
        ),
        ("OwnSemantics(within(rel_rms=0.5), every)", None),
        ('OwnSemantics(exact(), "exact")', None),
        ('OwnSemantics(within(rel_rms=0.5), "exact", gradient=exact())', None),
        ('OwnSemantics(Contract("at_most", print, limit=3.0), "exact")', None),
    ],
)
def test_what_is_numbers_alone_is_promised_as_data(read, semantics, promise):
    info = read(("mine", semantics))["topk/mine"]
    assert info.promise == promise
    if promise is not None:
        meaning = with_promise(FAMILY, "mine", promise).semantics["mine"]
        assert (meaning.name, meaning.reference) == ("mine", FAMILY.semantics[promise.reference].reference)
        assert info.bounds["fwd"].startswith(meaning.contract.bound)
        assert bool(meaning.gradient) == bool(promise.gradient)


def test_implementations_may_share_a_meaning_by_its_name(read):
    infos = read(("one", '(S := OwnSemantics(exact(), every, name="all"))'), ("two", "S"))
    assert {info.semantics for info in infos.values()} == {"all"}


def test_a_name_has_one_meaning(read, tmp_path):
    text = 'OwnSemantics(exact(), every, name="all")'
    with pytest.raises(UsageError, match='semantics "all" has two meanings in this file'):
        read(("one", text), ("two", text))
    mine = Catalog({}, read(("one", text), name="a.py"))
    with pytest.raises(UsageError, match=r'semantics "all" of family topk is brought by .*a\.py and .*b\.py'):
        mine.merged(Catalog({}, read(("two", text), name="b.py")))


def test_the_familys_own_stay_as_they_are():
    @implementation(framework="numpy", semantics=recall(at_least=0.9))
    def near(w: TopkWorkload):
        return lambda scores: scores

    extended = with_own_semantics(FAMILY, [near])
    assert list(extended.semantics) == [*FAMILY.semantics, "near"]
    assert all(extended.semantics[name] is meaning for name, meaning in FAMILY.semantics.items())
    assert extended.semantics["near"].reference is FAMILY.semantics["exact"].reference
    assert extended.semantics["near"].contract.bound == "recall ≥ 0.9"


def test_its_cost_is_its_authors_or_none():
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
