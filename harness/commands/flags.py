"""The flags that several commands share, each with its words of help."""

from pathlib import Path
from typing import Annotated

import typer

Suites = Annotated[list[str] | None, typer.Argument(help="Suites of bench.yaml; none: its default ones.")]
Family = Annotated[list[str] | None, typer.Option("--family", help="Only these families.")]
Impl = Annotated[list[str] | None, typer.Option("--impl", help="Only these: name, family/name, name[opt=1].")]
Seq = Annotated[list[str] | None, typer.Option("--seq", help="Lengths instead of the suite's: 4Ki,128Ki.")]
Mode = Annotated[list[str] | None, typer.Option("--mode", help="fwd, bwd, fwd_bwd.")]
Device = Annotated[list[str] | None, typer.Option("--device", help="cpu, cuda, tpu.")]
Set = Annotated[list[str] | None, typer.Option("--set", help="A workload field: rows=64,128.")]
Baseline = Annotated[str | None, typer.Option("--baseline", help="What speedups are relative to.")]
Quick = Annotated[bool, typer.Option("--quick", help="The two smallest lengths, a tenth of the budget.")]
Replicates = Annotated[
    int, typer.Option("--replicates", help="Fresh processes per group; 4 give intervals by process.")
]
Budget = Annotated[str | None, typer.Option("--budget", help="Sampling per case: 4s.")]
Timeout = Annotated[str | None, typer.Option("--timeout", help="A case's own turn: 60s.")]
Memory = Annotated[str | None, typer.Option("--memory", help="Limit of a group: 18GiB or 75%.")]
Threads = Annotated[str | None, typer.Option("--threads", help="Cores a case may use.")]
Precision = Annotated[
    str | None, typer.Option("--precision", help="Half-width of an interval that is enough: 5%.")
]
Seed = Annotated[str | None, typer.Option("--seed", help="Seed of the inputs.")]
Plugin = Annotated[list[str] | None, typer.Option("--plugin", help="A file with implementations.")]
ConfigFile = Annotated[Path | None, typer.Option("--config", help="Another bench.yaml.")]
Results = Annotated[Path | None, typer.Option("--results", help="Folder of stored runs.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON object on stdout, nothing else there.")]
Run = Annotated[str, typer.Option("--run", help="A stored run: id, unique beginning, path or latest.")]
Ids = Annotated[list[str] | None, typer.Argument(help="Families, implementations or checks; none: all.")]
ClaimNames = Annotated[
    list[str] | None,
    typer.Argument(help="Families, or claims as FAMILY/ID; none: all, and docs/CLAIMS.md is written."),
]
Check = Annotated[bool, typer.Option("--check", help="Is docs/CLAIMS.md what would be written? 1: no.")]
Names = Annotated[list[str] | None, typer.Argument(help="Suites to keep; none: all of the run.")]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Cases, planned memory, estimated time; nothing runs.")
]
Resume = Annotated[bool, typer.Option("--resume", help="Continue the newest run of the same suites.")]
Target = Annotated[
    list[str] | None,
    typer.Option("--target", help="What to compile for: host,tpu:v5p,cuda:h200,tpu:v5p:4x4x8."),
]
MaxSeq = Annotated[bool, typer.Option("--max-seq", help="Also the largest length that fits each target.")]
Out = Annotated[Path | None, typer.Option("--out", help="Folder for the SVGs.")]
Against = Annotated[
    str | None,
    typer.Option("--against", help="The base: git:REF, impl:NAME or py:INTERPRETER; none: the merge base."),
]
Cases = Annotated[list[str] | None, typer.Option("--cases", help="Only cases that match: 'mask/*seq=4096*'.")]
Delta = Annotated[str | None, typer.Option("--delta", help="The slowdown to catch: 5%.")]
MaxPairs = Annotated[int, typer.Option("--max-pairs", help="Pairs of processes per case, at most.")]
GateBudget = Annotated[str, typer.Option("--budget", help="Wall time of the gate: 300s.")]
Explain = Annotated[str | None, typer.Option("--explain", help="Show the evidence on this case.")]
Last = Annotated[bool, typer.Option("--last", help="Show the newest gate again; nothing is measured.")]
SelfCheck = Annotated[bool, typer.Option("--self-check", help="The working tree against itself.")]
StaticGate = Annotated[bool, typer.Option("--static", help="Exact figures and contracts; no clock.")]
Update = Annotated[bool, typer.Option("--update", help="With --static: write results/baselines/.")]
Inconclusive = Annotated[str, typer.Option("--inconclusive", help="Not enough evidence: warn or fail.")]
Noise = Annotated[
    bool, typer.Option("--noise", help="Measure this machine's noise, and which slowdown a gate can hold.")
]
Junit = Annotated[Path | None, typer.Option("--junit", help="Write JUnit XML there.")]
ResumeGate = Annotated[
    bool, typer.Option("--resume", help="Continue the interrupted gate of the same cases.")
]
