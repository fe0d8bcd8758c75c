"""The help of a command: a section per group of options, and examples at the end."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand

EXAMPLES = {
    "run": {
        "seqsweep run": "the default suites of bench.yaml",
        "seqsweep run mask topk --quick": "two suites, two lengths each",
        "seqsweep run mask --impl scatter,broadcast --seq 4Ki,64Ki": "two implementations, two lengths",
        "seqsweep run --dry-run": "count the cases; run nothing",
        "seqsweep run attention --device cuda --graphs": "what CUDA graphs save, too",
        "seqsweep run mask --max-seq": "the largest length that runs, too",
    },
    "check": {
        "seqsweep check": "everything that is registered",
        "seqsweep check mask topk/sort": "a family, and one implementation of another",
        "seqsweep check mask/kept_count": "one check",
    },
    "new": {
        "seqsweep new mask my_scatter": "my_scatter.py, right as it is; make it yours",
        "seqsweep new --family sums": "a question of your own, in forty lines",
    },
    "static": {
        "seqsweep static mask --target host,tpu:v5p,cuda:h200": "for this machine and two others",
        "seqsweep static mask --target tpu:v5p --max-seq": "how long a sequence fits a TPU v5p",
        "seqsweep static topk --target tpu:v5p --columns operations": "how many dots, sorts and scatters",
        "seqsweep static attention/nsa_mslk --stages": "the work and least time of each stage",
    },
    "claims": {
        "seqsweep claims": "all families; writes docs/CLAIMS.md",
        "seqsweep claims mask": "one family; writes nothing",
        "seqsweep claims mask/traffic": "one claim, with its arithmetic",
        "seqsweep claims --check": "is docs/CLAIMS.md up to date?",
    },
    "list": {
        "seqsweep list": "what can be run",
        "seqsweep list mask": "all about one family",
        "seqsweep list --plugin my_scatter.py": "the same, with a file of your own",
    },
    "doctor": {
        "seqsweep doctor": "what is installed, and what is missing",
        "seqsweep doctor --noise": "which slowdown a gate can hold; takes minutes",
        "seqsweep doctor --roofline": "FLOP/s and bytes/s at most here; takes a minute",
    },
    "machines": {
        "seqsweep machines": "what is there, and what is refused",
        "seqsweep run mask --on pool": "measure there",
    },
    "profile": {
        "seqsweep profile mla/naive --seq 256,1Ki": "its stages, and how each grows",
        "seqsweep profile mla --mode fwd_bwd": "the backward is one stage",
        "seqsweep profile attention_chart --impl nsa_mslk": "a suite's sizes",
        "seqsweep profile mla/naive --seq 256 --ops --trace call.json": "operators, too",
        "seqsweep profile mla/naive_jax --seq 256 --cold": "and what its first call costs",
    },
    "show": {
        "seqsweep show": "the newest run",
        "seqsweep show mask --run 20261120": "one suite of an older run",
        "seqsweep show --record 0b3759452d": "the record that a document names so",
    },
    "runs": {
        "seqsweep runs": "every stored run, newest first",
        "seqsweep runs --keep 20 --dry-run": "which runs would be deleted",
    },
    "compare": {
        "seqsweep compare latest --impl scatter,broadcast": "two implementations of the newest run",
        "seqsweep compare latest~1 latest --out trend.svg": "two runs: a trend, and a chart of it",
        "seqsweep compare --across attention": "how many machines agree?",
    },
    "gate": {
        "seqsweep gate mask": "times against the merge base",
        "seqsweep gate --static": "exact figures alone; for any machine",
        "seqsweep gate mask --against git:HEAD~1 --cases '*seq=4096*'": "some cases against another commit",
        "seqsweep gate --last --explain 'mask/scatter@*'": "why a case has its verdict",
    },
    "chart": {
        "seqsweep chart": "the newest run, into charts/",
        "seqsweep chart mask --out figures --png": "one suite, into a folder of yours",
    },
    "report": {
        "seqsweep report attention": "one suite of the newest run",
        "seqsweep report --run 20261120 --into FINDINGS.md": "fill the marked blocks of a file",
        "seqsweep report --into FINDINGS.md --check": "is the file up to date?",
        "seqsweep report --html findings.html": "one page, to be read without network",
        "seqsweep report mask --pr": "a receipt for a pull request",
    },
    "verify": {
        "seqsweep verify receipt.md": "does it hold on this machine?",
    },
    "collect": {
        "seqsweep collect shards/1 shards/2": "two machines' results, into those here",
        "seqsweep collect stores --check": "is the joined run what they give?",
    },
    "export": {
        "seqsweep export --to csv --out run.csv": "the newest run, a row per case",
        "seqsweep export 20261120 --to markdown": "an older run, for a pull request",
        "seqsweep export --to bencher --family mask": "latencies of one family",
    },
    "history": {
        "seqsweep history 'mask/scatter@*seq=4096*'": "a case in every stored run",
        "seqsweep history 'mask/scatter@*' --out trend.svg": "several, and a chart of them",
    },
}


class SectionedCommand(TyperCommand):
    """A command whose help has a section per `rich_help_panel`.

    Plain text, as rich's own panels take longer to load than all else that `--help` does.
    """

    def format_options(self, ctx: Any, formatter: Any) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            usual = "Arguments" if parameter.param_type_name == "argument" else "Options"
            row = parameter.get_help_record(ctx)
            if row is not None:
                sections.setdefault(getattr(parameter, "rich_help_panel", None) or usual, []).append(row)
        for title, rows in sections.items():
            with formatter.section(title):
                formatter.write_dl(rows)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        with formatter.section("Examples"):
            formatter.write_dl(list(EXAMPLES[self.name or ""].items()), col_max=36)
