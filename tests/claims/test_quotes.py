"""Every published number of a claim is in the cited lines of its document.

Only the numbers of the documents are stored, in `stored/`, because their text is not ours. Numbers of
documents without a stored text cannot be compared. Their count is tested here, so a new one is noticed.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path

import pytest

from harness.claims.documents import Citation
from harness.claims.model import Claim, Figure
from harness.claims.quantity import Quantity
from harness.claims.verdict import figures_of
from harness.core.units import parse_count
from tests.claims.planted import CATALOG, document
from tests.claims.stored_numbers import STORED, format_numbers, line_numbers, numbers, read

LITERAL = re.compile(r"(?<![\w.])(\d[\d_]*(?:\.\d+)?)(e[+-]?\d+)?(Ki|Mi|Gi|Ti)?(?![\w.])")
EXACT = re.compile(r"\d+\.\d+|\d{4,}")
READ = re.compile(r"\d+\.\d\d+|\d{5,}")  # what nobody writes who did not read it: 623.98, 142606336
ROUNDING = {"0.005", "0.0005", "0.05"}  # half a unit of a last digit

# Documents of the pull requests without a stored text, and the numbers that are only in them
UNSTORED = {
    "MSLK #296, benchmark_results.svg, blocks of 128": 45,
    "MSLK #296, benchmark_results.svg, blocks of 64 and fused kernels": 45,
    "MSLK #296, gen_nsa_perf_chart.py of 03-26": 33,
    "MSLK #296, gen_nsa_perf_chart.py, first version": 21,
    "MSLK #296, nsa_vs_dense_perf.svg": 54,
    "TransformerEngine #2522, final description": 20,
}


@dataclass(frozen=True)
class Quote:
    """A number as written in a claims.py, with the documents and lines that should contain it."""

    what: str
    literal: str
    citations: Sequence[Citation]

    def spellings(self) -> frozenset[Decimal]:
        """16 GiB may be printed as 16 or 17179869184, `274e9` as 274 or 274000000000."""
        match = LITERAL.fullmatch(self.literal)
        assert match is not None
        digits, exponent, prefix = match.groups("")
        mantissa = digits.replace("_", "")
        value = Decimal(f"{mantissa}{exponent}") * parse_count(f"1{prefix}")
        sizes = [(value / scale).normalize() for scale in (2**10, 2**20, 2**30)]
        short = [size for size in sizes if len(size.as_tuple().digits) <= 3]
        return frozenset({Decimal(mantissa), value, *short})

    def stands(self, folder: Path, *, anywhere: bool = False) -> bool:
        """Whether it is in the cited lines, or `anywhere` in a cited document."""
        there: set[Decimal] = set()
        for citation in self.citations:
            if citation.source.stored:
                lines = read(citation.source.stored, folder)
                cited = lines.keys() if anywhere else line_numbers(citation.lines)
                there.update(*(lines.get(line, ()) for line in cited))
        return bool(self.spellings() & there)

    @property
    def unstored(self) -> tuple[str, ...]:
        return tuple(citation.source.title for citation in self.citations if not citation.source.stored)

    def __str__(self) -> str:
        cited = ", ".join(f"{citation.source.title}:{citation.lines}" for citation in self.citations)
        return f"{self.what}: {self.literal} is not in {cited}"


def literals(quantity: Quantity) -> tuple[str, ...]:
    """Numbers in a quantity's arithmetic, if all of them are from the document."""
    text = "" if quantity.origins else quantity.text.replace("\u202f", "")
    return tuple(match[0] for match in LITERAL.finditer(text))


def quotes(claims: Iterable[Claim], figures: Mapping[str, Sequence[Figure]]) -> dict[Quote, None]:
    """All published numbers: of figures, and once of every table."""
    found: dict[Quote, None] = {}
    for claim in claims:
        for figure in figures[claim.name]:
            for end in figure.published:
                found |= _listed(f"{claim.name}, {figure.name}", literals(end), claim.sources)
        table = claim.table
        for row, texts in zip(table.rows, table.written, strict=True) if table else ():
            for column, value, text in zip(table.columns, row, texts, strict=True):
                is_number = isinstance(value, int | float)
                spelt = tuple(m[0] for m in LITERAL.finditer(text)) if is_number else numbers(text)
                where = f"{claim.family}, table {table.id}, {column} at {texts[0]}"
                found |= _listed(where, spelt if value is not None else (), table.sources)
    return found


def _listed(what: str, spelt: Sequence[str], citations: Sequence[Citation]) -> dict[Quote, None]:
    return {Quote(what, literal, citations): None for literal in spelt}


def misquotes(
    claims: Sequence[Claim], figures: Mapping[str, Sequence[Figure]], folder: Path = STORED
) -> list[str]:
    """Sentences on numbers that are not in their cited lines."""
    wrong = [str(one) for one in quotes(claims, figures) if not one.stands(folder) and not one.unstored]
    return [*uncited(claims), *wrong]


def uncited(claims: Iterable[Claim]) -> list[str]:
    """Documents with a stored text that are cited without lines."""
    found = [
        f"{claim.name}: {citation.source.title} is cited without lines"
        for claim in claims
        for citation in (*claim.sources, *(claim.table.sources if claim.table else ()))
        if citation.source.of and citation.source.stored and not citation.lines
    ]
    return list(dict.fromkeys(found))


def unfounded(
    claims: Iterable[Claim], figures: Mapping[str, Sequence[Figure]], folder: Path = STORED
) -> list[str]:
    """Exact numbers in statements or arithmetic that no cited document has."""
    found: list[str] = []
    for claim in claims:
        citations = (*claim.sources, *(claim.table.sources if claim.table else ()))
        told = [(f"{claim.name}, says", numbers(claim.says))]
        follows = [figure for figure in figures[claim.name] if figure.follows is not None]
        told += [(f"{claim.name}, {one.name}, follows", literals(one.follows)) for one in follows]
        for what, spelt in told:
            for literal in spelt:
                one = Quote(what, literal, citations)
                exact = READ.fullmatch(literal) and literal not in ROUNDING
                if exact and not one.unstored and not one.stands(folder, anywhere=True):
                    found.append(str(one))
    return list(dict.fromkeys(found))


def test_every_published_number_is_in_the_cited_lines(seeds, figures):
    assert misquotes(seeds.values(), figures) == []


def test_numbers_in_statements_and_arithmetic_are_in_the_documents(seeds, figures):
    assert unfounded(seeds.values(), figures) == []


def test_numbers_from_documents_without_stored_text_are_listed(seeds, figures):
    found = Counter(
        name for one in quotes(seeds.values(), figures) if not one.stands(STORED) for name in one.unstored
    )
    assert found == UNSTORED


def test_every_family_quotes(seeds, figures):
    found = quotes(seeds.values(), figures)
    counted = Counter(re.split("[/,]", one.what)[0] for one in found if one.stands(STORED))
    assert counted.keys() == {"mask", "topk", "offsets", "mla", "attention"}
    assert min(counted.values()) >= 4


# the test tested


def changed(literal: str) -> str:
    """With another last digit: `3.70` is 3.71."""
    match = LITERAL.fullmatch(literal)
    assert match is not None
    digits = match[1]
    return digits[:-1] + str((int(digits[-1]) + 1) % 10) + literal[len(digits) :]


def test_a_changed_digit_is_found_in_nearly_every_number(seeds, figures):
    """Some lines have both numbers, and a number with one digit may occur by chance."""
    found = quotes(seeds.values(), figures)
    exact = [one for one in found if one.stands(STORED) and EXACT.fullmatch(one.literal)]
    missed = [one for one in exact if replace(one, literal=changed(one.literal)).stands(STORED)]
    assert len(exact) >= 500
    assert len(missed) <= len(exact) / 20


TEXT = "On 64K tokens (~15%)\nit takes 26,581.04 ms, 11.5x less.\n1M: 2309.82 | 7\n"
ROWS = 'PAPER["2-3"].table("""\nn  a  b\n1Mi  2309.82  -\n7  OOM  11.50\n""")'


@pytest.fixture
def folder(tmp_path):
    """Folder with the stored numbers of a planted document."""
    (tmp_path / "paper.numbers").write_text(format_numbers("Paper #1", TEXT.encode()))
    return tmp_path


@pytest.fixture
def planted(read, folder):
    """Misquotes of that document, or unfounded numbers."""

    def of(figure="'a', published=11.5, follows=11.5", find=misquotes, says="It is so", **written):
        text = document(figure, source='PAPER["2"]', **written).replace("It is so", says)
        (claim,) = read(text)
        return find([claim], {claim.name: figures_of(claim, CATALOG, {})[0]}, folder)

    return of


@pytest.mark.parametrize(
    "number", ["26581.05", "26581", "2658104", "115", "1.5", "'64Ki'", "(11.5, 12)", "number(11.5) * 1.1"]
)
def test_a_planted_misquote_is_found(planted, number):
    (told,) = planted(f"'a', published={number}, found=1")
    assert told.startswith("mask/one, a: ")
    assert told.endswith(" is not in Paper #1:2")


def test_cells_of_a_table_are_compared_with_its_lines(planted):
    assert planted(table=ROWS) == []
    (told,) = planted(table=ROWS.replace("2309.82", "2309.28"))
    assert told == "mask, table t, a at 1Mi: 2309.28 is not in Paper #1:2-3"
    assert len(planted(table=ROWS.replace("2-3", "1"))) == 4
    (told,) = planted(table=ROWS.replace("OOM", "OOM at 9"))
    assert "OOM at 9" not in told
    assert ": 9 is not in" in told


def test_unfounded_numbers_are_found(planted):
    def of(follows, says="It is so"):
        return planted(f"'a', published=2, follows={follows}", find=unfounded, says=says)

    assert of("26581.04 / number(2309.82) * 1e3 + 0.005", "It takes 2309.82 ms on 3 pages") == []
    (told,) = of("26581.04 / number(2309.28)")
    assert told == "mask/one, a, follows: 2309.28 is not in Paper #1:2"
    (told,) = of("11.5", "It takes 2309.28 ms")
    assert told == "mask/one, says: 2309.28 is not in Paper #1:2"


# stored files


def test_every_stored_file_is_cited_by_its_name(seeds):
    every = [(*one.sources, *(one.table.sources if one.table else ())) for one in seeds.values()]
    cited = {citation.source for own in every for citation in own if citation.source.stored}
    assert {source.stored for source in cited} <= {path.stem for path in STORED.glob("*.numbers")}
    for source in cited:
        title = (STORED / f"{source.stored}.numbers").read_text().partition("\n")[0].removeprefix("# ")
        assert title.startswith(source.of), source.title
        assert not source.stored.startswith("findings-") or source.version in title, source.title


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("26,581.04 ms", ["26581.04"]),
        ("142606336 bytes, 2,147,483,647", ["142606336", "2147483647"]),
        ("14.07x, 10.1x/11.5x and 3.70×", ["14.07", "10.1", "11.5", "3.70"]),
        ("64K, 1M, 2M+, 128k, 16 GiB, ~10GB", ["64", "1", "2", "128", "16", "10"]),
        ("~1.3, ~6,900x, ~15%", ["1.3", "6900", "15"]),
        ("4-7x; 22-24 %; 3→1; 4096×8192", ["4", "7", "22", "24", "3", "1", "4096", "8192"]),
        ("$O(N \\log^2 N)$ of $K=64$, O(N²/64)", ["2", "64", "64"]),
        ("~274 Billion, 274e9, atol=1e-5", ["274", "274e9", "1e-5"]),
        ("f32[1,1024,65536] and [4, 16, 1024]", ["1", "1024", "65536", "4", "16", "1024"]),
        ("| **32K** | **5.50ms** | 1.38x | OOM | — |", ["32", "5.50", "1.38"]),
        ("(D=128, H_kv=8, l=64(ms))", ["128", "8", "64"]),
        ("D93888405 bf16 int32 V3.2 FA4 sm100 8d32e21 9ef80f2 1e15b00", []),
        ("1.2.3 and 0.50ms", ["1.2", "0.50"]),
        ("no number", []),
    ],
)
def test_numbers_are_read_from_lines(line, found):
    assert list(numbers(line)) == found
