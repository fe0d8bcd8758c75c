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
Ids = Annotated[list[str] | None, typer.Argument(help="Families or implementations; none: all.")]
Names = Annotated[list[str] | None, typer.Argument(help="Suites to keep; none: all of the run.")]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Cases, planned memory, estimated time; nothing runs.")
]
Resume = Annotated[bool, typer.Option("--resume", help="Continue the newest run of the same suites.")]
Target = Annotated[list[str] | None, typer.Option("--target", help="What to compile for: host.")]
Out = Annotated[Path | None, typer.Option("--out", help="Folder for the SVGs.")]
