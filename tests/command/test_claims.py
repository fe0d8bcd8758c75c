"""`claims` from flags to files: the compiler is a fake, everything else is real."""

import json
from importlib.metadata import PackageNotFoundError

import pytest

from harness.catalog import describe
from harness.catalog.catalog import Catalog, FamilyInfo, ImplementationInfo
from harness.command.asked import Asked
from harness.command.claim_evidence import evidence
from harness.command.claims import _versions, claims, tell
from harness.run import compiling
from harness.spec.claim import CONTRADICTED, NOT_CHECKABLE, REPRODUCED
from harness.spec.errors import UsageError
from harness.spec.record import Static
from harness.spec.workload import Field
from harness.sweep.claims import load
from harness.sweep.needs import needs

BENCH = "suites:\n  mask: {family: mask, seq: 8}\n"
CLAIMS = """\
claims:
  - id: arithmetic
    says: Two and two
    source: somewhere
    version: not stated
    hardware: any
    figures: [{name: sum, theirs: 4, ours: 2 + 2}]
    expect: reproduced
  - id: host
    says: Seven bytes on the host
    source: somewhere
    version: not stated
    hardware: any
    figures: [{name: temp, theirs: 7, ours: 'temp_bytes("FAMILY/a", "host")'}]
    expect: reproduced
  - id: tpu
    says: Eight bytes on a TPU
    source: somewhere
    version: not stated
    hardware: any
    figures: [{name: temp, theirs: 8, ours: 'temp_bytes("FAMILY/a", "tpu:v5p")'}]
    expect: reproduced
"""
LIBTPU = "libtpu is not installed; pip install 'seqsweep[tpu]'"


class Compiler:
    """Answers every ask with the bytes it holds for the target, and remembers what it was asked."""

    def __init__(self):
        self.bytes = {"host": 7, "tpu:v5p": 8}
        self.ends = {}  # by target, where it does not compile
        self.asked = []

    def __call__(self, asks, catalog, *, results, settings, told=None):
        self.asked.append([ask.target for ask in asks])
        none = dict.fromkeys(("argument_bytes", "output_bytes", "alias_bytes", "peak_bytes", "flops"), "none")
        return {
            ask: compiling.Answer.failed(*self.ends[ask.target])
            if ask.target in self.ends
            else compiling.Answer(
                "ok",
                Static(temp_bytes=self.bytes[ask.target], bytes_accessed=1.0, unavailable=none),
            )
            for ask in asks
        }


class Place:
    """A folder with a bench.yaml, two families, their claims, and a fake compiler."""

    def __init__(self, folder, monkeypatch):
        self.folder, self.compiler, self.monkeypatch = folder, Compiler(), monkeypatch
        families, implementations = {}, {}
        for name in ("mask", "topk"):
            home = folder / name
            home.mkdir()
            (home / "claims.yaml").write_text(CLAIMS.replace("FAMILY", name))
            fields = (Field("seq", "int", required=False, default=8),)
            families[name] = FamilyInfo(name, "?", fields, ("exact",), ("fwd",), str(home / "family.py"))
            implementations[f"{name}/a"] = ImplementationInfo(
                f"{name}/a", "jax", "exact", (), "", None, "m", "a.py", 1, "sha256:0"
            )
        self.catalog = Catalog(families, implementations)
        (folder / "bench.yaml").write_text(BENCH)
        monkeypatch.setattr(compiling, "compile_all", self.compiler)
        monkeypatch.setattr(Asked, "catalog", lambda _: (self.catalog, ()))
        monkeypatch.setattr("harness.command.claims._versions", lambda: {"jax": "1.2.3"})
        self.without(None)

    def without(self, reason):
        self.monkeypatch.setattr("harness.catalog.accelerators.absent", lambda kind: reason)

    @property
    def page(self):
        return self.folder / "docs" / "CLAIMS.md"

    def edit(self, name, old, new):
        path = self.folder / name / "claims.yaml"
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new))

    def asked(self, **flags):
        return Asked({"config": self.folder / "bench.yaml", "results": None, "plugin": None, **flags})

    def run(self, *families, check=False):
        return claims(self.asked(), families, check=check)


@pytest.fixture
def place(tmp_path, monkeypatch):
    return Place(tmp_path, monkeypatch)


def words(outcome):
    return {one.claim.name: one.word for one in outcome.verdicts}


def test_everything_is_compiled_in_one_batch_and_written_down(place):
    outcome = place.run()
    assert set(words(outcome).values()) == {REPRODUCED}
    assert list(words(outcome))[:4] == ["mask/arithmetic", "mask/host", "mask/tpu", "topk/arithmetic"]
    assert place.compiler.asked == [["host", "tpu:v5p", "host", "tpu:v5p"]]
    assert "6 claims: 6 reproduced." in place.page.read_text()
    assert "jax 1.2.3" in place.page.read_text()
    assert outcome.notes == (f"wrote {place.page}",)
    assert outcome.code(check=True) == 0


def test_one_family_is_told_and_not_written(place):
    outcome = place.run("topk")
    assert list(words(outcome)) == ["topk/arithmetic", "topk/host", "topk/tpu"]
    assert not place.page.exists()


def test_an_unknown_family_is_named(place):
    with pytest.raises(UsageError, match='unknown family "topp"; nearest: "topk"'):
        place.run("topp")


def test_a_check_agrees_with_what_was_just_written(place):
    place.run()
    before = place.page.read_bytes()
    outcome = place.run(check=True)
    assert outcome.problems == ()
    assert outcome.code(check=True) == 0
    assert place.page.read_bytes() == before


def test_a_check_without_a_document_says_how_to_write_one(place):
    outcome = place.run(check=True)
    assert outcome.code(check=True) == 1
    assert outcome.problems == (f"{place.page} does not exist: seqsweep claims writes it",)
    assert not place.page.exists()


def test_a_check_names_the_claims_that_differ(place):
    place.run()
    before = place.page.read_bytes()
    place.edit("topk", "Two and two", "Three and one")
    outcome = place.run(check=True)
    assert outcome.code(check=True) == 1
    (problem,) = outcome.problems
    assert problem == f"{place.page} is stale: topk/arithmetic, topk; seqsweep claims writes it anew"
    assert place.run("mask", check=True).problems == ()
    assert place.run("topk", check=True).code(check=True) == 1
    assert place.page.read_bytes() == before


def test_a_check_sees_claims_that_are_new_or_gone(place):
    place.run()
    place.edit("mask", "id: arithmetic", "id: sum")
    (problem,) = place.run("mask", check=True).problems
    assert "mask/sum, mask/arithmetic" in problem


def test_a_check_sees_an_edit_between_claims(place):
    place.run()
    place.page.write_text(place.page.read_text().replace("jax 1.2.3", "jax 9.9.9"))
    (problem,) = place.run(check=True).problems
    assert "stale: its head" in problem


def test_a_check_of_what_is_no_text_says_that_it_is_stale(place):
    place.run()
    place.page.write_bytes(b"\xff\xfe\x00")
    (problem,) = place.run(check=True).problems
    assert "is stale: mask/arithmetic, mask/host" in problem


def test_another_verdict_than_expected_fails_a_check_and_only_that(place):
    place.run()
    place.compiler.bytes["host"] = 9
    outcome = place.run()
    assert words(outcome)["mask/host"] == CONTRADICTED
    assert outcome.code(check=False) == 0
    assert outcome.problems[0].startswith("mask/host is contradicted, expected reproduced (")
    assert "(expected reproduced)" in place.page.read_text()
    again = place.run(check=True)
    assert again.code(check=True) == 1
    assert len(again.problems) == 2  # the document itself is not stale


def test_without_a_compiler_the_document_keeps_what_it_has(place):
    place.run()
    before = place.page.read_bytes()
    place.without(LIBTPU)
    outcome = place.run()
    assert words(outcome)["mask/tpu"] == NOT_CHECKABLE
    assert words(outcome)["mask/host"] == REPRODUCED
    assert outcome.notes == (f"{place.page} was left as it is, for it would hold less: {LIBTPU}",)
    assert outcome.problems == ()
    assert place.page.read_bytes() == before
    assert place.compiler.asked[-1] == ["host", "host"]


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
def test_a_machine_that_is_slow_or_broken_leaves_the_document_alone(place, end, told):
    place.run()
    before = place.page.read_bytes()
    place.compiler.ends = {"host": end}
    outcome = place.run()
    whole = "; ".join(f"{name}/a@seq=8:fwd:cpu for host {told}" for name in ("mask", "topk"))
    assert outcome.notes == (f"{place.page} was left as it is, for it would hold less: {whole}",)
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
        place.edit(name, "theirs: 7, ours", "theirs: 7, within: 30%, ours")
    place.run()
    assert "| temp | 7 | ≈\u202f7 | 30 % | compiled for host |" in place.page.read_text()
    place.compiler.bytes["host"] = 8
    assert place.run(check=True).problems == ()
    place.compiler.bytes["tpu:v5p"] = 9
    problems = place.run(check=True).problems
    assert "mask/tpu" in problems[-1]
    assert "mask/host" not in problems[-1]


def test_versions_are_those_of_compilers_and_of_torch(monkeypatch):
    installed = {"torch": "2.9.0+cpu", "jax": "0.10.2"}

    def of(name):
        if name not in installed:
            raise PackageNotFoundError(name)
        return installed[name]

    monkeypatch.setattr("harness.command.claims.version", of)
    assert _versions() == {"jax": "0.10.2", "torch": "2.9.0"}


def test_a_file_that_cannot_be_understood_is_an_error_with_its_place(place):
    place.edit("mask", "ours: 2 + 2", "ours: 2 + tow")
    with pytest.raises(UsageError, match=r'claims.yaml:7: unknown name "tow"'):
        place.run()


def test_as_json(place, capfdbinary):
    asked = place.asked(json=True)
    assert tell(claims(asked, ["mask"]), asked) == 0
    data = json.loads(capfdbinary.readouterr().out)
    assert [one["id"] for one in data["claims"]] == ["mask/arithmetic", "mask/host", "mask/tpu"]
    assert data["claims"][1]["figures"][0]["ours"] == 7
    assert data["problems"] == []


def test_as_a_table(place, capsys):
    asked = place.asked()
    assert tell(claims(asked, check=True), asked, check=True) == 1
    out = capsys.readouterr().out
    assert "mask/arithmetic" in out
    assert "6 claims: 6 reproduced" in out
    assert "does not exist: seqsweep claims writes it" in out.replace("\n", "")


CONTRACT = """\
claims:
  - id: contract
    says: A partition finds the largest
    source: somewhere
    version: not stated
    hardware: any
    shape: {rows: 2, seq: 512, topk: 16}
    figures: [{name: contract, theirs: ok, ours: status("topk/partition")}]
    expect: reproduced
"""


def test_contracts_run_here_and_leave_no_run(tmp_path):
    """A real family at a tiny size: `status` ends as `seqsweep check` would."""
    everything = describe.builtin()
    (tmp_path / "bench.yaml").write_text(BENCH)
    (tmp_path / "claims.yaml").write_text(CONTRACT)
    (claim,) = load(tmp_path / "claims.yaml", everything.family("topk"), everything)
    asked = Asked({"config": tmp_path / "bench.yaml", "results": None, "plugin": None})
    wanted = needs(claim, everything)
    told = evidence(asked, everything, wanted, lambda _: None)
    assert [told.judged[need].status for need in wanted] == ["ok"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bench.yaml", "claims.yaml"]
