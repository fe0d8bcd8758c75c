"""`claims` from flags to files: the compiler is a fake, everything else is real."""

import json

import pytest

from harness.catalog.catalog import Catalog, FamilyInfo
from harness.claims.model import Word
from harness.commands.claims import _versions, claims, claims_part, print_outcome
from harness.core.errors import UsageError
from harness.core.static_figures import Static
from harness.core.workload import Field
from harness.run import compile as compiling
from harness.sweep.project import Project
from tests.claims.planted import implementation

BENCH = "suites:\n  mask: {family: mask, seq: 8}\n"
CLAIMS = '''\
from harness.claims import Claim, Figure, Source, number

PULL, PAPER = Source("Pull #1", of="Pull #1"), Source("A paper")


@Claim("adds up", PULL, on="any")
def arithmetic(e):
    """Two and two"""
    yield Figure("sum", published=4, follows=number(2) + 2)


@Claim("reproduced", PULL, on="any")
def host(e):
    """Seven bytes on the host"""
    yield Figure("temp", published=7, found=e.temp_bytes("a", "host"))


@Claim("reproduced", PULL, on="any")
def tpu(e):
    """Eight bytes on a TPU"""
    yield Figure("temp", published=8, found=e.temp_bytes("a", "tpu:v5p"))


@Claim("adds up", PAPER, on="any")
def beside(e):
    """It belongs to no pull request"""
    yield Figure("sum", published=4, follows=number(1) + 3)
'''
LIBTPU = "libtpu is not installed; pip install -e '.[tpu]'"


class Compiler:
    """Answers every ask with the bytes it holds for the target, and remembers what it was asked."""

    def __init__(self):
        self.bytes = {"host": 7, "tpu:v5p": 8}
        self.ends = {}  # by target, where it does not compile
        self.missing = {}  # by target, where its compiler is not installed
        self.asked = []

    def __call__(self, asks, catalog, *, results, settings, on_answer=None):
        self.asked.append([ask.target for ask in asks])
        none = dict.fromkeys(("argument_bytes", "output_bytes", "alias_bytes", "peak_bytes", "flops"), "none")
        return {
            ask: compiling.CompileResult.failed("unsupported", self.missing[ask.target], transient=True)
            if ask.target in self.missing
            else compiling.CompileResult.failed(*self.ends[ask.target])
            if ask.target in self.ends
            else compiling.CompileResult(
                "ok", Static(temp_bytes=self.bytes[ask.target], bytes_accessed=1.0, unavailable=none)
            )
            for ask in asks
        }


class Place:
    """A folder with a bench.yaml, two families, their claims, and a fake compiler."""

    def __init__(self, folder, monkeypatch):
        self.folder, self.compiler = folder, Compiler()
        self.page, self.context = (folder / "docs" / name for name in ("CLAIMS.md", "CLAIMS_CONTEXT.md"))
        families, implementations = {}, {}
        for name in ("mask", "topk"):
            home = folder / name
            home.mkdir()
            (home / "claims.py").write_text(CLAIMS)
            fields = (Field("seq", "int", required=False, default=8),)
            families[name] = FamilyInfo(name, "?", fields, ("exact",), ("fwd",), str(home / "family.py"))
            implementations[f"{name}/a"] = implementation(f"{name}/a")
        self.catalog = Catalog(families, implementations)
        (folder / "bench.yaml").write_text(BENCH)
        monkeypatch.setattr(compiling, "compile_all", self.compiler)
        monkeypatch.setattr(Project, "catalog", self.catalog)
        monkeypatch.setattr("harness.commands.claims._versions", lambda _: {"jax": "1.2.3"})

    def without(self, reason):
        self.compiler.missing["tpu:v5p"] = reason

    def edit(self, name, old, new):
        path = self.folder / name / "claims.py"
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new))

    @property
    def project(self):
        return Project(self.folder / "bench.yaml")

    def run(self, *names, check=False):
        return claims(self.project, names, check=check)


@pytest.fixture
def place(tmp_path, monkeypatch):
    return Place(tmp_path, monkeypatch)


def words(outcome):
    return {one.claim.name: one.word for one in outcome.verdicts}


MASK = {
    "mask/arithmetic": Word.ADDS_UP,
    "mask/host": Word.REPRODUCED,
    "mask/tpu": Word.REPRODUCED,
    "mask/beside": Word.CONTEXT,
}


def test_everything_is_compiled_in_one_batch_and_written_down(place):
    outcome = place.run()
    assert words(outcome) == {**MASK, **{name.replace("mask", "topk"): word for name, word in MASK.items()}}
    assert list(words(outcome))[:5] == [*MASK, "topk/arithmetic"]
    assert place.compiler.asked == [["host", "tpu:v5p", "host", "tpu:v5p"]]
    page, context = place.page.read_text(), place.context.read_text()
    for said in ("6 claims: 4 reproduced, 2 adds up.", "jax 1.2.3", "Two and two"):
        assert said in page
    assert "It belongs to no pull request" in context
    assert "It belongs to no pull request" not in page
    assert "Two and two" not in context
    assert outcome.notes == (f"wrote {place.page}", f"wrote {place.context}")
    assert outcome.code(check=True) == 0


def test_one_family_or_claim_is_told_and_nothing_else_compiled_or_written(place):
    assert words(place.run("topk/host")) == {"topk/host": Word.REPRODUCED}
    assert place.compiler.asked == [["host"]]
    assert list(words(place.run("topk"))) == [name.replace("mask", "topk") for name in MASK]
    several = place.run("topk/tpu", "mask/beside", "mask/arithmetic")
    assert list(words(several)) == ["topk/tpu", "mask/arithmetic", "mask/beside"]
    assert list(words(place.run("mask", "topk/host"))) == [*MASK, "topk/host"]
    assert not place.page.exists()
    assert not place.context.exists()


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("topp", 'unknown family "topp"; nearest: "topk"'),
        ("topp/host", 'unknown family "topp"; nearest: "topk"'),
        ("topk/hots", 'unknown claim "topk/hots"; nearest: "topk/host"'),
    ],
)
def test_an_unknown_family_or_claim_is_named(place, name, why):
    with pytest.raises(UsageError, match=why):
        place.run("mask", name)


def test_a_check_agrees_with_what_was_just_written(place):
    place.run()
    before = place.page.read_bytes(), place.context.read_bytes()
    outcome = place.run(check=True)
    assert outcome.problems == ()
    assert outcome.code(check=True) == 0
    assert (place.page.read_bytes(), place.context.read_bytes()) == before


def test_a_check_without_a_document_says_how_to_write_one(place):
    outcome = place.run(check=True)
    assert outcome.code(check=True) == 1
    missing = [f"{path} does not exist: seqsweep claims writes it" for path in (place.page, place.context)]
    assert list(outcome.problems) == missing
    assert not place.page.exists()


def test_a_check_names_the_claims_that_differ(place):
    place.run()
    before = place.page.read_bytes()
    place.edit("topk", "Two and two", "Three and one")
    outcome = place.run(check=True)
    assert outcome.code(check=True) == 1
    (problem,) = outcome.problems
    assert problem.startswith(f"{place.page} is stale: ")
    assert problem.endswith("; seqsweep claims writes it anew")
    assert "topk/arithmetic" in problem
    assert "mask" not in problem.removeprefix(str(place.page))
    assert place.run("mask", check=True).problems == ()
    assert place.run("topk/host", check=True).problems == ()
    (problem,) = place.run("topk/arithmetic", check=True).problems
    assert problem == f"{place.page} is stale: topk/arithmetic; seqsweep claims writes it anew"
    assert place.page.read_bytes() == before
    place.edit("topk", "It belongs to no pull request", "It belongs to some pull request")
    problem = place.run(check=True).problems[-1]
    assert problem == f"{place.context} is stale: topk/beside; seqsweep claims writes it anew"


def test_a_check_sees_claims_that_are_new_or_gone(place):
    place.run()
    place.edit("mask", "def arithmetic", "def sum")
    (problem,) = place.run("mask", check=True).problems
    assert "mask/sum" in problem
    (problem,) = place.run(check=True).problems
    assert "mask/sum" in problem
    assert "mask/arithmetic" in problem


def reorder(page):
    first, rest = page.split("### mask/host\n")
    middle, last = rest.split("### mask/tpu\n")
    own, after = last.split("## topk\n")
    return f"{first}### mask/tpu\n{own}### mask/host\n{middle}## topk\n{after}"


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda page: page.replace("jax 1.2.3", "jax 9.9.9"), "stale: its head;"),
        (reorder, "stale: its layout;"),
        (lambda _: "\udcff\udcfe\0", "mask/arithmetic, mask/host"),  # is no UTF-8
    ],
)
def test_a_check_sees_what_was_done_to_a_page(place, damage, says):
    place.run()
    place.page.write_bytes(damage(place.page.read_text()).encode(errors="surrogateescape"))
    (problem,) = place.run(check=True).problems
    assert says in problem


def test_another_verdict_than_expected_fails_a_check_and_only_that(place):
    place.run()
    place.compiler.bytes["host"] = 9
    outcome = place.run()
    assert words(outcome)["mask/host"] == Word.CONTRADICTED
    assert outcome.code(check=False) == 0
    assert outcome.problems[0].startswith("mask/host is contradicted, expected reproduced (")
    assert "(expected reproduced)" in place.page.read_text()
    again = place.run(check=True)
    assert again.code(check=True) == 1
    assert len(again.problems) == 2  # the documents themselves are not stale


def test_context_is_held_to_what_its_figures_give(place):
    place.edit("mask", "number(1) + 3", "number(1) + 4")
    (problem,) = place.run().problems
    assert problem.startswith("mask/beside is inconsistent, expected adds up (")
    assert words(place.run())["mask/beside"] == Word.CONTEXT


def test_without_a_compiler_the_documents_keep_what_they_have(place):
    place.run()
    before = place.page.read_bytes()
    place.without(LIBTPU)
    outcome = place.run()
    assert words(outcome)["mask/tpu"] == Word.NOT_CHECKABLE
    assert words(outcome)["mask/host"] == Word.REPRODUCED
    why = f"{place.page} and {place.context} were left as they are, for they would hold less: {LIBTPU}"
    assert outcome.notes == (why,)
    assert outcome.problems == ()
    assert place.page.read_bytes() == before


def test_without_a_compiler_a_check_compares_the_rest(place):
    place.run()
    place.without(LIBTPU)
    outcome = place.run(check=True)
    assert (outcome.problems, outcome.code(check=True)) == ((), 0)
    assert outcome.notes == (f"not compared, for figures are missing: {LIBTPU}",)

    place.edit("mask", "Seven bytes", "7 bytes")
    (problem,) = place.run(check=True).problems
    assert "stale: mask/host;" in problem


@pytest.mark.parametrize(
    ("end", "told"),
    [
        (("timeout", "no answer within 60 s"), "took too long here: no answer within 60 s"),
        (("crashed", "signal 11"), "crashed here: signal 11"),
        (("skipped", "inferred: 64Ki took too long"), "was skipped here: inferred: 64Ki took too long"),
    ],
)
def test_a_machine_that_is_slow_or_broken_leaves_the_documents_alone(place, end, told):
    place.run()
    before = place.page.read_bytes()
    place.compiler.ends = {"host": end}
    outcome = place.run()
    whole = "; ".join(f"{name}/a@seq=8:fwd:cpu for host {told}" for name in ("mask", "topk"))
    assert outcome.notes[0].endswith(f"were left as they are, for they would hold less: {whole}")
    assert place.page.read_bytes() == before
    assert outcome.problems == ()
    again = place.run(check=True)
    assert (again.problems, len(again.notes)) == ((), 2)


def test_what_a_compiler_refuses_everywhere_is_written_down(place):
    place.compiler.ends = {"host": ("unsupported", "needs a GPU")}
    place.run()
    assert "none: mask/a@seq=8:fwd:cpu for host: needs a GPU" in place.page.read_text()


def test_another_processor_makes_no_document_stale(place):
    for name in ("mask", "topk"):
        place.edit(name, "published=7,", "published=7, within=(0.3, 'planned'),")
    place.run()
    assert "| temp | 7 | – | ≈\u202f7 | 30 % (planned) | compiled for host |" in place.page.read_text()
    place.compiler.bytes["host"] = 8
    assert place.run(check=True).problems == ()
    place.compiler.bytes["tpu:v5p"] = 9
    problems = place.run(check=True).problems
    assert "mask/tpu" in problems[-1]
    assert "mask/host" not in problems[-1]


def test_versions_are_those_of_compilers_and_of_torch(monkeypatch):
    installed = {"torch": "2.9.0+cpu", "jax": "0.10.2", "numpy": "2.4.6", "triton": "3.9.0"}
    monkeypatch.setattr("harness.commands.claims.version_of", installed.get)
    assert _versions({"jax", "numpy", "torch"}) == {"torch": "2.9.0", "jax": "0.10.2"}


def test_a_file_that_cannot_be_understood_is_an_error_with_its_place(place):
    place.edit("mask", "number(2) + 2", "number(2) + e.tow")
    with pytest.raises(UsageError, match=r'claims.py:9: unknown name "tow"'):
        place.run()


def test_an_outcome_is_printed_as_json_and_as_a_table(place, capfd):
    assert print_outcome(place.run("mask"), json=True) == 0
    data = json.loads(capfd.readouterr().out)
    assert [one["id"] for one in data["claims"]] == list(MASK)
    assert data["claims"][1]["figures"][0]["found"] == 7
    assert data["problems"] == []
    assert print_outcome(place.run(check=True), json=False, check=True) == 1
    out = capfd.readouterr().out
    assert "mask/arithmetic" in out
    assert "6 claims: 4 reproduced, 2 adds up; 2 more for context" in out
    assert "does not exist: seqsweep claims writes it" in out.replace("\n", "")


def test_findings_list_the_claims_that_do_not_hold(place):
    place.edit("mask", "reproduced", "contradicted")
    part = claims_part({"mask", "topk", "gone"}, place.catalog)
    assert [tuple(slot.text for slot in row) for row in part.table.rows] == [
        ("mask/host", "Seven bytes on the host", "contradicted"),
        ("mask/tpu", "Eight bytes on a TPU", "contradicted"),
    ]
    assert claims_part({"topk"}, place.catalog).sentences == ("None that is known of.",)
    assert claims_part({"gone"}, place.catalog) is None
