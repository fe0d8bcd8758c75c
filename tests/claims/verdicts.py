"""Hand-made verdicts, one of every outcome."""

from typing import Any

from harness.claims.documents import Citation, Source, Table
from harness.claims.model import Claim, ClaimVerdict, Figure, FigureResult, Word
from harness.claims.quantity import Missing, Quantity

PULL = Source("Pull #1, description", "https://example.org/1", "Pull #1", "1a2b3c4", "000")
PAPER = Source("A paper")
TARGET = "tpu:v5p"


def claim(name: str, expect: str = Word.REPRODUCED, source: Any = PULL["46"], because: str = "", **more: Any):
    def function(_: Any) -> None: ...

    function.__name__, function.__doc__ = name, f"What {name} says\n\n{because}"
    given = Claim(expect, source, **{"on": "a TPU", **more})(function)
    given.family = "mask"
    return given


def arithmetic(value: float, text: str) -> Quantity:
    return Quantity(value, text, binds=1)


ROWS = Table(
    (Citation(PULL, "3-6"),),
    ("n", "dense"),
    ((65536, 3.7), (131072, "OOM"), (1000, None), (10**6, 26581.04)),
    (("64Ki", "3.70"), ("128Ki", "OOM"), ("1000", "-"), ("1_000_000", "26581.04")),
    id="b200",
)
TEMP = Figure("temp", "B", published="2Gi", found=2**31 + 2**20, within=(0.05, "rounded"))
MEMORY = ClaimVerdict(
    claim("memory", rows=1024, seq=131072, target=TARGET),
    Word.REPRODUCED,
    "Temp: 2 GiB is published, and found.",
    (
        FigureResult(
            TEMP, agrees=True, rows=1, by=("compiled for tpu:v5p",), targets=(TARGET,),
        ),
        FigureResult(
            Figure("ratio", "×", (50, 800), arithmetic(64.0, "17179869184 / 268435456")), agrees=True, rows=1,
        ),
    ),
)  # fmt: skip
RATE = ClaimVerdict(
    claim("rate", Word.IMPLAUSIBLE, table=ROWS, headline="The hardware cannot be that fast."),
    Word.IMPLAUSIBLE,
    "It is above the peak.",
    (
        FigureResult(
            Figure("rate", "TFLOP/s", follows=arithmetic(4990.0, "65536 / 3.7"), at_most=2250, row=2**16),
            agrees=False, against=Word.IMPLAUSIBLE, rows=2, by=("the device's file",),
        ),
    ),
)  # fmt: skip
TIME = ClaimVerdict(
    claim("time", Word.NOT_CHECKABLE, because="It takes a TPU."),
    Word.NOT_CHECKABLE,
    "It takes a TPU.",
    (
        FigureResult(Figure("time", "ms", 153), rows=1),
        FigureResult(
            Figure("seen", "×", found=arithmetic(2.4321, "4.8642 / 2")), rows=1, by=("compiled for tpu:v5p",),
            targets=(TARGET,),
        ),
    ),
)  # fmt: skip
SURPRISE = ClaimVerdict(claim("surprise"), Word.CONTRADICTED, "Size: 1 is published, 2 is found here.")
LIBTPU = "libtpu is not installed"
LACKING = ClaimVerdict(
    claim("lacking"),
    Word.NOT_CHECKABLE,
    f"{LIBTPU}.",
    (
        FigureResult(
            Figure("temp", published=1, found=Quantity(None, missing=Missing(LIBTPU))), missing=LIBTPU
        ),
    ),
    incomplete=LIBTPU,
)
SUM = ClaimVerdict(claim("sum", Word.INCONSISTENT, table=ROWS), Word.INCONSISTENT, "One is counted twice.")
FOREIGN = ClaimVerdict(
    claim("foreign", Word.ELSEWHERE, needs="the time, on a TPU"), Word.ELSEWHERE, "It agrees."
)
BESIDE = ClaimVerdict(claim("beside", Word.CONTRADICTED, PAPER), Word.CONTRADICTED, "It is more.")
ALL = (MEMORY, RATE, TIME, SURPRISE, LACKING, SUM, FOREIGN, BESIDE)
