"""Verdicts made by hand, of every word."""

from typing import Any

from harness.claims.expression import parse
from harness.claims.model import Citation, Claim, Figure, FigureValue, Reading, Source, Table, Verdict, Word

PULL = Source("pull", "Pull #1, description", "Pull #1", "1a2b3c4", "https://example.org/1", "000")
PAPER = Source("paper", "A paper")
TARGET = "tpu:v5p"


def claim(name: str, expect: str = Word.REPRODUCED, **more: Any) -> Claim:
    values = {"sources": (Citation(PULL, "46"),), "hardware": "a TPU", "says": f"What {name} says", **more}
    return Claim("mask", name, "claims.yaml:2", expect=expect, **values)


def figure(name: str, **more: Any) -> Figure:
    columns = {key: parse(text) for key, text in more.items() if isinstance(text, str) and key in COLUMNS}
    published = more.pop("published", ())
    ends = tuple(map(parse, (published,) if isinstance(published, str) else published))
    return Figure(name, "claims.yaml:9", **{**more, **columns, "published": ends})


COLUMNS = ("follows", "found", "at_most", "at_least")

ROWS = Table(
    "b200",
    (Citation(PULL, "3-6"),),
    ("n", "dense"),
    ((65536, 3.7), (131072, "OOM"), (1000, None), (10**6, 26581.04)),
    (("64Ki", "3.70"), ("128Ki", "OOM"), ("1000", "null"), ("1_000_000", "26581.04")),
)
TEMP = figure(
    "temp", unit="B", published="2Gi", found='temp_bytes("a", "tpu:v5p")', within=0.05, why="rounded"
)
MEMORY = Verdict(
    claim("memory", shape={"rows": 1024, "seq": 131072}, given=("rows", "seq"), targets=(TARGET,)),
    Word.REPRODUCED,
    "Temp: 2 GiB is published, and found.",
    (
        Reading(
            TEMP, published=FigureValue(2**31), found=FigureValue(2**31 + 2**20), agrees=True, rows=1,
            by=("compiled for tpu:v5p",), targets=(TARGET,), tested=True,
        ),
        Reading(
            figure("ratio", unit="×", published=("50", "800"), follows="16Gi / 256Mi"),
            published=FigureValue(50), upto=FigureValue(800),
            follows=FigureValue(64.0, "17179869184 / 268435456"), agrees=True, rows=1,
        ),
    ),
)  # fmt: skip
RATE = Verdict(
    claim("rate", Word.IMPLAUSIBLE, table=ROWS, headline="The hardware cannot be that fast."),
    Word.IMPLAUSIBLE,
    "It is above the peak.",
    (
        Reading(
            figure("rate", unit="TFLOP/s", follows="n / dense", at_most='peak("cuda:b200")', each=True),
            follows=FigureValue(4990.0, "65536 / 3.7"), at_most=FigureValue(2250), agrees=False,
            against=Word.IMPLAUSIBLE, row="64Ki", rows=2, by=("the device's file",),
        ),
    ),
)  # fmt: skip
TIME = Verdict(
    claim("time", Word.NOT_CHECKABLE, not_checkable="It takes a TPU."),
    Word.NOT_CHECKABLE,
    "It takes a TPU.",
    (
        Reading(figure("time", unit="ms", published="153"), published=FigureValue(153), rows=1),
        Reading(
            figure("seen", unit="×", found='flops("a", "tpu:v5p") / 2'),
            found=FigureValue(2.4321, "4.8642 / 2"), rows=1, by=("compiled for tpu:v5p",), targets=(TARGET,),
            tested=True,
        ),
    ),
)  # fmt: skip
SURPRISE = Verdict(claim("surprise"), Word.CONTRADICTED, "Size: 1 is published, 2 is found here.")
LIBTPU = "libtpu is not installed"
LACKING = Verdict(
    claim("lacking"),
    Word.NOT_CHECKABLE,
    f"{LIBTPU}.",
    (Reading(figure("temp", published="1", found="1"), published=FigureValue(1), missing=LIBTPU),),
    incomplete=LIBTPU,
)
SUM = Verdict(claim("sum", Word.INCONSISTENT, table=ROWS), Word.INCONSISTENT, "One is counted twice.")
FOREIGN = Verdict(claim("foreign", Word.ELSEWHERE, needs="the time, on a TPU"), Word.ELSEWHERE, "It agrees.")
BESIDE = Verdict(
    claim("beside", Word.CONTRADICTED, context=True, sources=(Citation(PAPER),)),
    Word.CONTRADICTED,
    "It is more.",
)
ALL = (MEMORY, RATE, TIME, SURPRISE, LACKING, SUM, FOREIGN, BESIDE)
