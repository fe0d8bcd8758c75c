"""The options of `list`, `new`, `claims` and `doctor`, which tell what there is."""

from pathlib import Path
from typing import Annotated

import typer

from harness.commands.options import OUTPUT, PLACES, SELECTION, Text, Words, option

ClaimNames = Annotated[
    Words, typer.Argument(help="Families, or claims as FAMILY/ID; none: all, and docs/CLAIMS.md is written.")
]
FamilyName = Annotated[
    Text,
    typer.Argument(help="A family: its fields, semantics and checks; none: everything in short."),
]
Contracts = Annotated[
    bool,
    option(OUTPUT, "--contracts", "A family's contracts, gradients, inputs and results; whole sentences."),
]
Check = Annotated[bool, option(OUTPUT, "--check", "Write nothing; exit 1 where docs/CLAIMS.md is stale.")]
ClaimShard = Annotated[
    Text, option(SELECTION, "--shard", "Only compile this machine's part, 3/8, into results/compiled.")
]
Noise = Annotated[
    bool, option("Noise", "--noise", "Measure this machine's noise, and which slowdown a gate can hold.")
]
SelfCheck = Annotated[
    bool, option("Noise", "--self-check", "Is a case as fast here as in a plain loop of a fresh process?")
]
MeasuredRoofline = Annotated[
    bool, option("Noise", "--roofline", "Measure the most FLOP/s and bytes/s that torch reaches here.")
]
PoolName = Annotated[Text, typer.Argument(help="A name under machines in bench.yaml; none: all.")]
NewFamily = Annotated[Text, typer.Argument(help="The family to implement.")]
NewName = Annotated[Text, typer.Argument(help="Name of the implementation, and of the file.")]
OwnFamily = Annotated[Text, option(PLACES, "--family", "Write a family of this name instead.")]
SourceFolder = Annotated[Path, option(PLACES, "--out", "Folder for the file.")]
