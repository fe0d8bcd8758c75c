"""`claims` from flags to files: the compiler is a fake, everything else is real."""

import json

import pytest

from harness.catalog.catalog import Catalog, FamilyInfo
from harness.commands.claims import _versions, claims, claims_part, print_outcome
from harness.core.errors import UsageError
from harness.core.static_figures import Static
from harness.core.workload import Field
from harness.run import compile as compiling
from harness.sweep.project import Project
from tests.claims.planted import implementation
from tests.goldens import assert_golden, scenes

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
        self.folder, self.compiler, self.said = folder, Compiler(), []
        self.pages = [folder / "docs" / name for name in ("CLAIMS.md", "CLAIMS_CONTEXT.md")]
        families, implementations = {}, {}
        for name in ("mask", "topk"):
            home = folder / name
            home.mkdir(parents=True)
            (home / "claims.py").write_text(CLAIMS)
            fields = (Field("seq", "int", required=False, default=8),)
            families[name] = FamilyInfo(name, "?", fields, ("exact",), ("fwd",), str(home / "family.py"))
            implementations[f"{name}/a"] = implementation(f"{name}/a")
        self.catalog = Catalog(families, implementations)
        (folder / "bench.yaml").write_text(BENCH)
        monkeypatch.setattr(compiling, "compile_all", self.compiler)
        monkeypatch.setattr(Project, "catalog", self.catalog)
        monkeypatch.setattr("harness.commands.claims._versions", lambda _: {"jax": "1.2.3"})

    def edit(self, name, old, new):
        """Change a claims.py, or a page of claims."""
        path = self.pages[0] if name == "page" else self.folder / name / "claims.py"
        assert old in path.read_text()
        path.write_bytes(path.read_text().replace(old, new).encode(errors="surrogateescape"))

    def run(self, *names, check=False):
        return claims(Project(self.folder / "bench.yaml"), names, check=check)

    def tell(self, *names, check=False):
        """Run it, and write down what came of it."""
        before = self.texts
        outcome = self.run(*names, check=check)
        words = [f"{one.claim.name} {one.word}" for one in outcome.verdicts]
        pages = "no pages" if not self.texts else "the same pages" if self.texts == before else "other pages"
        command = " ".join(["$ claims", *names, *(["--check"] if check else [])])
        ends = f"exit code {outcome.code(check=check)}, {pages}"
        lines = [command, ", ".join(words), *outcome.notes, *outcome.problems, ends]
        self.said += [line.replace(f"{self.folder}/", "") for line in lines]

    @property
    def texts(self):
        return [path.read_bytes() for path in self.pages if path.exists()]


@pytest.fixture
def place(tmp_path, monkeypatch):
    return Place(tmp_path, monkeypatch)


def run(*names):
    return lambda place: place.tell(*names)


def check(*names):
    return lambda place: place.tell(*names, check=True)


def edit(*change):
    return lambda place: place.edit(*change)


def compiles(**answers):
    """What the compiler holds, refuses or lacks from now on."""
    return lambda place: vars(place.compiler).update(answers)


def reorder(place):
    """Exchange two claims of a page."""
    page = place.pages[0].read_text()
    first, rest = page.split("### mask/host\n")
    middle, last = rest.split("### mask/tpu\n")
    own, after = last.split("## topk\n")
    place.pages[0].write_text(f"{first}### mask/tpu\n{own}### mask/host\n{middle}## topk\n{after}")


WITHIN = ("published=7,", "published=7, within=(0.3, 'planned'),")
WITHOUT = compiles(missing={"tpu:v5p": LIBTPU})
SCENES = {
    "everything": [run(), check()],
    "a family or a claim": [
        *(run("topk/host"), run("topk"), run("topk/tpu", "mask/beside", "mask/arithmetic")),
        run("mask", "topk/host"),
    ],
    "no documents": [check()],
    "a claim that differs": [
        *(run(), edit("topk", "Two and two", "Three and one"), check(), check("mask"), check("topk/host")),
        check("topk/arithmetic"),
        *(edit("topk", "It belongs to no pull request", "It belongs to some pull request"), check()),
    ],
    "a claim that is new, and one that is gone": [
        *(run(), edit("mask", "def arithmetic", "def sum"), check("mask"), check()),
    ],
    "another head": [run(), edit("page", "jax 1.2.3", "jax 9.9.9"), check()],
    "another order": [run(), reorder, check()],
    "no UTF-8": [run(), edit("page", "###", "\udcff\udcfe\0"), check()],
    "another verdict": [run(), compiles(bytes={"host": 9, "tpu:v5p": 8}), run(), check()],
    "another verdict of context": [edit("mask", "number(1) + 3", "number(1) + 4"), run()],
    "no compiler": [run(), WITHOUT, run(), check(), edit("mask", "Seven bytes", "7 bytes"), check()],
    "a slow machine": [run(), compiles(ends={"host": ("timeout", "no answer within 60 s")}), run(), check()],
    "a broken machine": [run(), compiles(ends={"host": ("crashed", "signal 11")}), run(), check()],
    "a length that was skipped": [run(), compiles(ends={"host": ("skipped", "inferred")}), run()],
    "what a compiler refuses": [compiles(ends={"host": ("unsupported", "needs a GPU")}), run()],
    "another processor": [
        *(edit("mask", *WITHIN), edit("topk", *WITHIN), run(), compiles(bytes={"host": 8, "tpu:v5p": 8})),
        *(check(), compiles(bytes={"host": 8, "tpu:v5p": 9}), check()),
    ],
}


def test_what_the_command_says_and_writes(tmp_path, monkeypatch):
    said = {}
    for name, steps in SCENES.items():
        place = Place(tmp_path / name.replace(" ", "-"), monkeypatch)
        for step in steps:
            step(place)
        said[name] = "\n".join(place.said)
    assert_golden("claims_command.txt", scenes(said))


def test_everything_is_compiled_in_one_batch_and_context_has_a_page_of_its_own(place):
    place.run()
    assert place.compiler.asked == [["host", "tpu:v5p", "host", "tpu:v5p"]]
    page, context = (path.read_text() for path in place.pages)
    for said in ("6 claims: 4 reproduced, 2 adds up.", "jax 1.2.3", "Two and two"):
        assert said in page
    assert "It belongs to no pull request" in context
    assert "It belongs to no pull request" not in page
    assert "Two and two" not in context


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
    assert len(data["claims"]) == 4
    assert data["claims"][1]["figures"][0]["found"] == 7
    assert data["problems"] == []
    assert print_outcome(place.run(check=True), json=False, check=True) == 1
    out = capfd.readouterr().out
    assert "mask/arithmetic" in out
    assert "6 claims: 4 reproduced, 2 adds up; 2 more for context" in out
    assert "does not exist; run seqsweep claims to write it" in out.replace("\n", "")


def test_findings_list_the_claims_that_do_not_hold(place):
    place.edit("mask", "reproduced", "contradicted")
    part = claims_part({"mask", "topk", "gone"}, place.catalog)
    assert [tuple(slot.text for slot in row) for row in part.table.rows] == [
        ("mask/host", "Seven bytes on the host", "contradicted"),
        ("mask/tpu", "Eight bytes on a TPU", "contradicted"),
    ]
    assert claims_part({"topk"}, place.catalog).sentences == ("No published claim is known to be wrong.",)
    assert claims_part({"gone"}, place.catalog) is None
