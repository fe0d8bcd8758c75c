"""Families that fail in their own code at a requested length, and one that works."""

from dataclasses import dataclass

from seqsweep import Array, Contract, Cost, Family, Semantics, Workload, axis, exact, implementation


def broken(name, *, cost=lambda w: Cost(), shapes=None, inputs=None, reference=None, contract=None):
    """(family, two implementations), with one part of the family replaced."""

    @dataclass(frozen=True)
    class Points(Workload):
        seq: int = axis()

    def draw(w, rng):
        return {"x": rng.integers(0, 8, w.seq).astype("f4")}

    meaning = Semantics("double", reference or (lambda w, rows: lambda x: 2 * x), contract or exact())
    family = Family(
        name,
        "Does it double?",
        Points,
        shapes or (lambda w: {"x": Array((w.seq,), "f32")}),
        inputs or draw,
        {"double": meaning},
        cost,
    )

    def adds(w: Points):
        return lambda x: x + x

    def multiplies(w: Points):
        return lambda x: 2 * x

    register = implementation(framework="numpy", semantics="double")
    return Points, family, register(adds), register(multiplies)


def raises(w, rows):
    def double(x):
        raise ValueError("no reference here")

    return double


def judges(evidence):
    return evidence.workload.bound


def describes(w):
    return {"x": Array((w.seq,), "f32" if w.seq < 5000 else missing)}  # noqa: F821 - its mistake


def draws(w, rng):
    return {"x": 1 / 0}


GoodWorkload, GOOD, good_adds, good_multiplies = broken("good")
CostWorkload, COST, cost_adds, cost_multiplies = broken("cost", cost=lambda w: Cost(flops=5000 - w.seq))
ReferenceWorkload, REFERENCE, reference_adds, reference_multiplies = broken("reference", reference=raises)
ContractWorkload, CONTRACT, contract_adds, contract_multiplies = broken(
    "contract", contract=Contract("mine", judges)
)
InputsWorkload, INPUTS, inputs_adds, inputs_multiplies = broken("inputs", inputs=draws)
ShapesWorkload, SHAPES, shapes_adds, shapes_multiplies = broken("shapes", shapes=describes)
