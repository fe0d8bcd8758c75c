"""The flags of each command that exclude each other, and those that need another one.

Every flag that a command accepts changes something: what a mode would ignore is refused here. A mode is a
flag, `FILE.py::KERNEL` or `list models`; an argument is named in capitals, as in the help.
"""

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from harness.core.errors import UsageError

KERNEL, MODELS, ALL_MODELS = "FILE.py::KERNEL", "list models", "list models without NAME"
LIMITS = "--timeout --memory --threads --seed --budget --precision --replicates"
FIGURES = "a page of its own shows other figures than the run's tables"
DIVIDED = "several machines take their parts in turn, and wait for no lock"
NO_CLOCK = "exact figures and contracts need no clock"


class Exclusion(NamedTuple):
    """What a mode of a command goes without: the flags `refused`, or all but those `taken`."""

    mode: str
    why: str
    refused: str = ""
    taken: str = ""

    def excludes(self, flag: str) -> bool:
        return flag in self.refused.split() if self.refused else flag not in {self.mode, *self.taken.split()}


class Partner(NamedTuple):
    """A flag that changes something only with a partner, or with one of several."""

    flag: str
    needed: tuple[str, ...]
    why: str


EXCLUSIONS = {
    "run": (
        Exclusion("--dry-run", "a plan is no run", "--resume --wait --strict --graphs --columns --notes"),
        Exclusion("--on", "graphs are tried on this machine alone", "--graphs"),
        Exclusion("--on", DIVIDED, "--shard --wait"),
    ),
    "check": (Exclusion("--on", DIVIDED, "--shard --wait"),),
    "static": (
        Exclusion(
            KERNEL,
            "a kernel's file has no suites, lengths or pages",
            taken="--target --args --grid --timeout --kernels --json --config --results SUITES",
        ),
        Exclusion("--kernels", FIGURES, "--owners --max-seq --columns --notes --on"),
        Exclusion("--owners", FIGURES, "--max-seq --columns --notes --on"),
        Exclusion("--on", "a search over lengths is not divided", "--max-seq"),
        Exclusion("--on", DIVIDED, "--shard --wait"),
    ),
    "sensitivity": (
        Exclusion(
            "--run",
            "a stored run is measured already",
            f"--set --quick --model --tp --phase {LIMITS} --resume --wait --strict",
        ),
    ),
    "gate": (
        Exclusion(
            "--last",
            "the newest gate is decided already",
            taken="--explain --inconclusive --junit --json --config --results",
        ),
        Exclusion(
            "--dry-run", "a plan has no verdicts", "--update --explain --junit --inconclusive --wait --resume"
        ),
        Exclusion(
            "--static",
            "the table says beside each verdict which figure changed, and which buffer made memory more",
            "--explain",
        ),
        Exclusion("--static", NO_CLOCK, "--self-check --resume --delta --max-pairs --budget"),
        Exclusion(
            "--update",
            "the file of exact figures is written from the working tree alone",
            "--self-check --against --all --junit --inconclusive",
        ),
        Exclusion("--self-check", "the working tree is its own base", "--against --all"),
    ),
    "show": (Exclusion("--record", "a record is printed whole", taken="--run --json --config --results"),),
    "compare": (
        Exclusion("--across", "comparisons within each run are printed", "--impl --force --out --notes"),
        Exclusion("--impl", "both sides are of one run, and of one machine", "--force"),
    ),
    "report": (
        Exclusion("--html", "one call writes one document", "--into --pr"),
        Exclusion("--pr", "a receipt is Markdown on standard output", "--into --json"),
    ),
    "list": (
        Exclusion(MODELS, "presets of models have no contracts", "--contracts"),
        Exclusion(ALL_MODELS, "no plugin brings a preset", "--plugin --config"),
    ),
    "new": (Exclusion("--family", "a family of one's own has several", "--framework"),),
    "claims": (Exclusion("--shard", "a shard compiles alone, and judges nothing", "--check"),),
    "doctor": (
        Exclusion("--noise", "each measures by itself", "--self-check --roofline"),
        Exclusion("--self-check", "each measures by itself", "--roofline"),
    ),
}
NEEDS = {
    "run": (Partner("--figures", ("--dry-run",), "a run has the figures of every case anyway"),),
    "static": (
        Partner("--against", ("--owners",), "to judge a change: seqsweep gate --static --against"),
        Partner("--args", (KERNEL,), "suites have their own arguments"),
        Partner("--grid", (KERNEL,), "suites have their own grids"),
    ),
    "gate": (Partner("--update", ("--static",), "it writes the file of exact figures"),),
    "runs": (Partner("--dry-run", ("--keep",), "without it nothing is deleted anyway"),),
    "compare": (Partner("--run", ("--across",), "name two runs without it, as seqsweep compare RUN RUN"),),
    "report": (
        Partner("--check", ("--into",), "it compares that file: seqsweep report --into FINDINGS.md --check"),
        Partner("--chart", ("--pr",), "a receipt shows it"),
    ),
    "list": (
        Partner("--contracts", ("FAMILY",), "name the family whose contracts are wanted"),
        Partner("NAME", (MODELS,), "only a model is named behind the list"),
    ),
    "doctor": (Partner("--plugin", ("--noise", "--self-check"), "nothing else measures implementations"),),
}
# The modes that words choose, and not a flag.
WORDS: dict[str, Callable[[Sequence[str]], Collection[str]]] = {
    "static": lambda words: [KERNEL for word in words if "::" in word or word.endswith(".py")],
    "list": lambda words: [MODELS, *[ALL_MODELS][len(words) - 1 :]] if words[:1] == ["models"] else [],
}


def refuse_conflicts(command: str, given: Sequence[str], words: Sequence[str]) -> None:
    """UsageError for the first flag that would change nothing; `words` are the values of arguments."""
    modes = {*given, *(WORDS[command](words) if command in WORDS else ())}
    for exclusion in EXCLUSIONS.get(command, ()):
        for flag in given if exclusion.mode in modes else ():
            if exclusion.excludes(flag):
                raise UsageError(f"{flag} does not go with {exclusion.mode}: {exclusion.why}; leave one out")
    for need in NEEDS.get(command, ()):
        if need.flag in given and modes.isdisjoint(need.needed):
            raise UsageError(f"{need.flag}: goes with {' or '.join(need.needed)}; {need.why}")
