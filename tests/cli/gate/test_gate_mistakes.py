"""Wrong input to `gate`: one sentence with the nearest name or a remedy, exit code 2, no measurement."""

import pytest

BENCH = """\
plugins: [kernels.py]
defaults: {memory: 4GiB, timeout: 60s}
suites:
  points: {family: points, seq: 64, impls: [adds, sums]}
"""


@pytest.fixture(scope="module")
def work(repositories, plugin_of):
    made = repositories("work")
    adds = "return lambda x: x + x"
    made.commit({"bench.yaml": BENCH, "kernels.py": plugin_of(adds=adds, sums=adds)}, "good")
    return made


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("--against gti:HEAD", "write git:REF, impl:NAME or py:INTERPRETER"),
        ("--against git:nosuch", 'has no commit "nosuch"; correct the name, or run git -C '),
        ("--delta 0", "between 0 % and 100 %"),
        ("--delta abc", "write for example 5%"),
        ("--max-pairs 3", "a verdict needs at least 4 pairs"),
        ("--cases points/zzz*", 'no case matches "points/zzz*"; nearest: "points/sums@*"'),
        ("--self-check --explain points/smus@*", 'nearest: "points/sums@*"'),
        ("--last", "no gate is stored in"),
        ("--last --junit .", "--junit .: cannot be written; name a file in a folder that you can write to"),
        ("--junit bench.yaml/junit.xml", "--junit bench.yaml/junit.xml: cannot be written"),
        ("", "fetch origin main:refs/remotes/origin/main, or name a base with --against git:REF"),
    ],
)
def test_a_mistake_is_one_sentence(in_process, environment, monkeypatch, work, words, says):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    said = in_process("gate", *words.split(), folder=work.folder)
    assert said.code == 2
    assert says in said.err
    assert said.err.startswith("seqsweep: ")
    assert said.err.count("\n") == 1
    assert said.out == ""
    assert not (work.folder / "results").exists()
