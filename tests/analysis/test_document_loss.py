"""What real document lengths cost against one long document, from records with known times."""

import pytest

from harness.analysis.document_loss import document_losses
from harness.core.record import Cost
from tests.analysis.conftest import suite_of, timed_record


def packed(name, samples, flops=None, seq=4096, mode="fwd", **workload):
    return timed_record(name, seq, samples, cost=Cost(flops=flops), mode=mode, workload=workload)


def losses_of(*records):
    return {(loss.implementation, loss.documents): loss for loss in document_losses(suite_of(records))}


def test_time_work_and_rate_are_over_those_of_one_long_document():
    single = packed("a", [4.0, 4.2, 4.0, 3.8, 4.0, 4.0], flops=100.0, lengths="single")
    pretrain = packed("a", [2.0, 2.0, 2.2, 2.0, 1.8, 2.0], flops=20.0, lengths="pretrain")
    loss = losses_of(single, pretrain)["mask/a", "pretrain"]
    assert loss.case == pretrain.case
    assert (loss.time.value, loss.time.low, loss.time.high) == (0.5, 1.8 / 4.2, 2.2 / 3.8)
    assert loss.work == 0.2
    # Half the time for a fifth of the work: two fifths of the rate are kept.
    assert loss.rate.value == pytest.approx(0.4)
    assert loss.rate.low == pytest.approx(0.2 / (2.2 / 3.8))
    assert loss.rate.high == pytest.approx(0.2 / (1.8 / 4.2))
    assert loss.rate.unit == "both intervals"


def test_without_a_formula_there_is_time_alone():
    loss = losses_of(packed("a", [4.0] * 6, lengths="single"), packed("a", [6.0] * 6))["mask/a", "uniform"]
    assert (loss.time.value, loss.work, loss.rate.value, loss.rate.low) == (1.5, None, None, None)


def test_only_the_documents_may_differ():
    single = packed("a", [4.0] * 6, flops=1.0, lengths="single")
    others = [
        packed("b", [1.0] * 6, lengths="pretrain"),
        packed("a", [1.0] * 6, lengths="pretrain", seq=8192),
        packed("a", [1.0] * 6, lengths="pretrain", heads=2),
        packed("a", [1.0] * 6, lengths="pretrain", mode="bwd"),
        packed("c", [1.0] * 6, lengths="single"),
    ]
    assert losses_of(single, *others) == {}
    one_too = packed("a", [4.0] * 6, lengths="single", packing="best_fit_decreasing")
    assert losses_of(single, one_too) == {}
    same = packed("a", [1.0] * 6, lengths="pretrain", packing="best_fit_decreasing", packing_seed=3)
    assert list(losses_of(single, same)) == [("mask/a", "pretrain best_fit_decreasing 3")]


def test_what_was_not_timed_has_no_loss():
    untimed = timed_record("a", 4096, status="oom", workload={"lengths": "pretrain"})
    assert losses_of(packed("a", [4.0] * 6, lengths="single"), untimed) == {}
