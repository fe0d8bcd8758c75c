"""Statements of an implementation about itself."""

from seqsweep import Contract, Cost, Judgement, OwnSemantics, implementation, within
from shared_functions import largest

from impls.topk.family import TopkWorkload


def anything(_):
    return Judgement(True, {"mismatches": 0}, "")


@implementation(framework="numpy", semantics=OwnSemantics(Contract("exact", anything), name="largest"))
def calls_its_contract_exact(w: TopkWorkload):
    """Defines a contract named exact that passes everything."""
    from shared_functions import nothing

    return lambda scores: nothing(scores, w.topk)


@implementation(
    framework="numpy",
    semantics=OwnSemantics(
        within(rel_rms=1e-6), "exact", name="costly", cost=lambda _: Cost(flops=1e18, bytes=1e18)
    ),
)
def claims_more_work_than_there_is(w: TopkWorkload):
    """Declares more FLOPs than any machine can compute in its time."""
    return lambda scores: largest(scores, w.topk)
