"""The command line: parse, call one function per layer, print, exit code."""

from __future__ import annotations

import sys
import traceback
from typing import Annotated, NoReturn

import typer
from typer.exceptions import TyperException

from harness.commands import flags
from harness.commands.output import console, print_dry_run, print_json, print_list, print_run_or_json
from harness.commands.run import compile_for, conduct
from harness.core.errors import MachineError, SeqsweepError, UsageError
from harness.sweep.project import Asked, words

VERSION = "0.1.0"
STOPPED = 130

app = typer.Typer(
    name="seqsweep",
    help="Benchmark long-context kernels over sequence lengths: correct first, then measured, then compared.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.command()
def run(
    suites: flags.Suites = None,
    family: flags.Family = None,
    impl: flags.Impl = None,
    seq: flags.Seq = None,
    mode: flags.Mode = None,
    device: flags.Device = None,
    set_: flags.Set = None,
    baseline: flags.Baseline = None,
    quick: flags.Quick = False,
    replicates: flags.Replicates = 1,
    budget: flags.Budget = None,
    timeout: flags.Timeout = None,
    memory: flags.Memory = None,
    threads: flags.Threads = None,
    precision: flags.Precision = None,
    seed: flags.Seed = None,
    plugin: flags.Plugin = None,
    config: flags.ConfigFile = None,
    results: flags.Results = None,
    resume: flags.Resume = False,
    dry_run: flags.DryRun = False,
    json: flags.Json = False,
) -> None:
    """Contract, static figures and time of every case; tables at the end."""
    asked = Asked(locals())
    if dry_run:
        print_dry_run(asked)
    else:
        raise typer.Exit(conduct(asked, "run", VERSION, resume=resume))


@app.command()
def check(
    ids: flags.Ids = None,
    family: flags.Family = None,
    impl: flags.Impl = None,
    seq: flags.Seq = None,
    mode: flags.Mode = None,
    device: flags.Device = None,
    set_: flags.Set = None,
    quick: flags.Quick = False,
    timeout: flags.Timeout = None,
    memory: flags.Memory = None,
    threads: flags.Threads = None,
    seed: flags.Seed = None,
    plugin: flags.Plugin = None,
    config: flags.ConfigFile = None,
    results: flags.Results = None,
    json: flags.Json = False,
) -> None:
    """Contracts and checks: every case is held to its reference, and to its family's checks; no clock."""
    raise typer.Exit(conduct(Asked(locals()), "check", VERSION))


@app.command()
def static(
    suites: flags.Suites = None,
    target: flags.Target = None,
    family: flags.Family = None,
    impl: flags.Impl = None,
    seq: flags.Seq = None,
    mode: flags.Mode = None,
    set_: flags.Set = None,
    quick: flags.Quick = False,
    max_seq: flags.MaxSeq = False,
    timeout: flags.Timeout = None,
    memory: flags.Memory = None,
    threads: flags.Threads = None,
    plugin: flags.Plugin = None,
    config: flags.ConfigFile = None,
    results: flags.Results = None,
    json: flags.Json = False,
) -> None:
    """Compile only, run nothing: memory, FLOPs and bytes per target."""
    raise typer.Exit(compile_for(Asked(locals()), VERSION, longest=max_seq))


@app.command()
def claims(
    names: flags.ClaimNames = None,
    check: flags.Check = False,
    plugin: flags.Plugin = None,
    config: flags.ConfigFile = None,
    results: flags.Results = None,
    json: flags.Json = False,
) -> None:
    """What became of published numbers: all of them, those of a family, or one (FAMILY/ID)."""
    from harness.commands.claims import claims as judge
    from harness.commands.claims import tell

    asked = Asked(locals())
    outcome = judge(asked, names or (), check=check, say=lambda said: typer.echo(said, err=True))
    raise typer.Exit(tell(outcome, asked, check=check))


@app.command("list")
def list_(plugin: flags.Plugin = None, config: flags.ConfigFile = None, json: flags.Json = False) -> None:
    """Families and implementations, with their options; the targets that are compiled for."""
    print_list(Asked(locals()))


@app.command()
def doctor(
    noise: flags.Noise = False,
    plugin: flags.Plugin = None,
    config: flags.ConfigFile = None,
    results: flags.Results = None,
    json: flags.Json = False,
) -> None:
    """This machine: what a benchmark finds here, what is missing, and how to install it."""
    if noise:
        from harness.commands.gate import tell_noise

        tell_noise(locals(), console())
        return
    from harness.run.doctor import examine

    findings = examine(Asked(locals()).results)
    if json:
        print_json({"findings": [vars(finding) for finding in findings]})
    else:
        from harness.report.tables.listing import findings_table

        console().print(findings_table(findings))


@app.command()
def show(
    names: flags.Names = None,
    family: flags.Family = None,
    impl: flags.Impl = None,
    seq: flags.Seq = None,
    mode: flags.Mode = None,
    device: flags.Device = None,
    run: flags.Run = "latest",
    config: flags.ConfigFile = None,
    results: flags.Results = None,
    json: flags.Json = False,
) -> None:
    """The tables of a stored run again."""
    from harness.commands.stored import stored_run

    stored = stored_run(Asked(locals()))
    print_run_or_json(stored.info, stored.records, stored.info.get("overhead"), stored.problems, json=json)


@app.command()
def compare(
    run: Annotated[str, typer.Argument(help="A stored run; the earlier one of two.")],
    other: Annotated[str | None, typer.Argument(help="The later run; none: --impl inside one.")] = None,
    impl: flags.Impl = None,
    force: Annotated[bool, typer.Option("--force", help="Show runs of different machines.")] = False,
    config: flags.ConfigFile = None,
    results: flags.Results = None,
    json: flags.Json = False,
) -> None:
    """Two implementations of one run (--impl a,b), or two runs: the latter is a trend, not a verdict."""
    from harness.commands.compare import compare_sides

    asked = Asked(locals())
    found = compare_sides(asked.results, run, other, words(impl), force=force)
    if json:
        print_json(found.to_json())
    else:
        from harness.report.run_report import print_sides

        print_sides(console(), found.changes, found.heading, found.differing)


@app.command()
def gate(
    suites: flags.Suites = None,
    against: flags.Against = None,
    cases: flags.Cases = None,
    delta: flags.Delta = None,
    max_pairs: flags.MaxPairs = 12,
    budget: flags.GateBudget = "300s",
    explain: flags.Explain = None,
    last: flags.Last = False,
    self_check: flags.SelfCheck = False,
    static: flags.StaticGate = False,
    update: flags.Update = False,
    inconclusive: flags.Inconclusive = "fail",
    junit: flags.Junit = None,
    resume: flags.ResumeGate = False,
    family: flags.Family = None,
    impl: flags.Impl = None,
    seq: flags.Seq = None,
    mode: flags.Mode = None,
    device: flags.Device = None,
    set_: flags.Set = None,
    quick: flags.Quick = False,
    timeout: flags.Timeout = None,
    memory: flags.Memory = None,
    threads: flags.Threads = None,
    seed: flags.Seed = None,
    plugin: flags.Plugin = None,
    config: flags.ConfigFile = None,
    results: flags.Results = None,
    json: flags.Json = False,
) -> None:
    """The working tree against a base: regressed, unchanged, or not enough evidence."""
    asked = locals()
    from harness.commands.gate import gate as decide

    code, data = decide(asked, console(), typer.echo)
    if data is not None:
        print_json(data)
    raise typer.Exit(code)


@app.command()
def chart(
    names: flags.Names = None,
    family: flags.Family = None,
    impl: flags.Impl = None,
    seq: flags.Seq = None,
    mode: flags.Mode = None,
    device: flags.Device = None,
    run: flags.Run = "latest",
    out: flags.Out = None,
    config: flags.ConfigFile = None,
    results: flags.Results = None,
    json: flags.Json = False,
) -> None:
    """Draw latency, speedup and memory of every suite of a stored run as SVG."""
    from harness.commands.stored import draw

    asked = Asked(locals())
    paths = draw(asked)
    if json:
        print_json({"charts": [str(path) for path in paths]})
    else:
        for path in paths:
            typer.echo(path)


def main() -> NoReturn:
    """Every error that a user can mend is one sentence on stderr and a documented exit code."""
    try:
        code = app(sys.argv[1:] or ["--help"], standalone_mode=False)
    except SeqsweepError as error:
        typer.echo(f"seqsweep: {error}", err=True)
        code = error.exit_code
    except TyperException as error:
        said = getattr(error, "format_message", error.__str__)().rstrip(".")
        typer.echo(f"seqsweep: {said}; see seqsweep COMMAND --help", err=True)
        code = UsageError.exit_code
    except (KeyboardInterrupt, typer.Abort):
        typer.echo("seqsweep: stopped", err=True)
        code = STOPPED
    except SystemExit:  # of rich and typer, when nobody reads on; theirs is 1, which says regressed
        code = MachineError.exit_code
    except Exception:  # a fault of this program, or of where it prints to; Python's own code is 1, too
        traceback.print_exc()
        code = MachineError.exit_code
    sys.exit(code or 0)


if __name__ == "__main__":
    main()
