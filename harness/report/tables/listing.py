"""Tables of implementations (`list`), planned cases (`--dry-run`), stored runs (`runs`) and `doctor`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.console import Group
from rich.table import Table
from rich.text import Text

from harness.catalog.accelerators import Accelerator
from harness.catalog.catalog import Catalog, FamilyInfo, ImplementationInfo
from harness.core.record import state_bound
from harness.core.units import format_bytes
from harness.core.workload import Field, canonical
from harness.report.format import ABSENT, duration, minute

if TYPE_CHECKING:
    from harness.store.run_summary import RunSummary

HASH_DIGITS = 7
RUNS_CAPTION = "started: UTC; +: uncommitted changes; machine: name and prefix of its fingerprint"


def families_table(catalog: Catalog) -> Group:
    """Each family's question and workload, then its implementations."""
    parts: list[Text | Table] = []
    for family in catalog.families.values():
        heading = Text(family.name, style="bold")
        heading.append(f": {family.question}", style="not bold")
        workload = ", ".join(_field(field) for field in family.fields)
        parts += [heading, Text(f"workload: {workload}; modes: {', '.join(family.modes)}", style="dim")]
        if family.checks:
            parts.append(Text(f"checks: {', '.join(family.checks)}", style="dim"))
        parts += [implementations_table(catalog.of_family(family.name)), Text("")]
    if not parts:
        parts.append(Text("No family is registered. Load one with --plugin FILE."))
    return Group(*parts)


def implementations_table(infos: Sequence[ImplementationInfo], *, one_line: bool = False) -> Table:
    """Options with defaults, framework, semantics, and the description, cut to one line with `one_line`."""
    table = plain_table("implementation", "framework", "semantics", "description")
    for info in infos:
        options = ",".join(_field(option) for option in info.options)
        name = Text(f"{info.name}[{options}]" if options else info.name)
        sentence = Text(info.sentence, no_wrap=one_line, overflow="ellipsis" if one_line else None)
        for bound in state_bound(info.bounds.get("fwd", "")):
            sentence.append(f" ({bound})", style="dim")
        if info.expects:
            sentence.append(f" (expected incorrect: {info.expects})", style="dim")
        table.add_row(name, info.framework, info.semantics, sentence)
    return table


def _field(field: Field) -> str:
    """`seq`, `topk=2048`, `dtype=f32`: the name, with its default if it has one."""
    return field.name if field.required else f"{field.name}={canonical(field.default)}"


def known_targets_table(targets: Sequence[Accelerator], missing: Mapping[str, str]) -> Group:
    """The targets of `static --target` besides the host; `missing` says by kind what is not installed."""
    numbers = ("memory", "bandwidth", "peak")
    table = plain_table("target", "device", *numbers, right=numbers)
    for target in targets:
        peak = f"{target.peak_flops['bf16'] / 1e12:.4g} TFLOP/s bf16"
        bandwidth = f"{target.bandwidth_bytes_s / 1e12:.3g} TB/s"
        table.add_row(target.name, target.chip, format_bytes(target.memory_bytes), bandwidth, peak)
    heading = Text("targets", style="bold")
    heading.append(": host, or one device of a type below. Add a TPU topology like this: tpu:v5p:4x4x8")
    return Group(heading, table, *(Text(why) for why in missing.values()))


def dry_run_table(suites: Sequence[Any], total: int, budget_s: float) -> Group:
    """A line per suite of a dry run: its axes, its cases, and the sum of their sampling budgets.

    `total` and `budget_s` are those of all suites together, with shared cases counted once.
    """
    numbers = ("cases", "impossible", "sampling budget")
    table = plain_table("suite", "axes", "baseline", *numbers, right=numbers)
    reasons: Counter[str] = Counter()
    for suite in suites:
        counts = {**suite.axes, "implementations": suite.implementations}
        counts |= {"modes": suite.modes, "devices": suite.devices}
        product = " × ".join(f"{name} {count}" for name, count in counts.items() if count > 1)
        impossible = len(suite.impossible)
        cases = str(len(suite.cases)), str(impossible) if impossible else ""
        texts = Text(product or "one point"), Text(suite.baseline)
        table.add_row(suite.suite, *texts, *cases, duration(suite.budget_s))
        reasons.update(suite.impossible.values())
    lines = [f"{count} impossible: {reason}" for reason, count in reasons.items()]
    lines.append(
        f"{total} case{'s' if total != 1 else ''} would run. Their sampling budgets add up to "
        f"{duration(budget_s)}, without compiling and checking; sampling stops early if it is precise enough."
    )
    return Group(table, Text(""), *map(Text, lines))


def plain_table(*titles: str, right: Collection[str] = ()) -> Table:
    """An empty table; the columns named in `right` have numbers and are aligned to the right."""
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    for title in titles:
        number = title in right
        table.add_column(title, justify="right" if number else "left", no_wrap=number, overflow="fold")
    return table


def findings_table(findings: Sequence[Any]) -> Group:
    """The findings of `doctor`, a line each, with the remedies below."""
    table = plain_table("", "", "")
    styles = {"ok": "green", "optional": "dim", "problem": "yellow"}
    for finding in findings:
        table.add_row(finding.what, Text(finding.state, style=styles[finding.state]), finding.says)
    remedies = [Text(f"{finding.what}: {finding.remedy}") for finding in findings if finding.remedy]
    return Group(table, Text(""), *remedies)


def origin(run: RunSummary) -> tuple[str, str, str]:
    """(`2026-11-22 17:03`, `31dd830+`, `AMD EPYC dd2e43a`): start, commit, machine."""
    digits = str(run.fingerprint).removeprefix("sha256:")[:HASH_DIGITS]
    return (
        minute(run.started) if run.started else ABSENT,
        f"{str(run.commit)[:HASH_DIGITS]}{'+' if run.dirty else ''}" if run.commit else ABSENT,
        f"{run.machine or 'unknown'} {digits}" if run.fingerprint else ABSENT,
    )


def runs_table(runs: Sequence[RunSummary]) -> Group:
    """A line per run in the given order, with problems in reading below."""
    from harness.store.run_summary import FINISHED

    if not runs:
        return Group(Text("No run is stored. Start one with: seqsweep run"))
    table = plain_table("run", "command", "started", "commit", "machine", "cases", "result", "suites", "")
    for run in runs:
        cases = str(run.cases) if run.cases == run.planned else f"{run.cases} of {run.planned}"
        statuses = ", ".join(f"{count} {status}" for status, count in run.statuses.items())
        state = "" if run.state == FINISHED else run.state
        table.add_row(
            *map(Text, (run.run, run.command, *origin(run), cases, statuses, ", ".join(run.suites), state))
        )
    problems = [Text(f"! {run.run}: {text}", style="yellow") for run in runs for text in run.problems]
    return Group(table, Text(""), Text(RUNS_CAPTION), *problems)


def family_page(
    family: FamilyInfo,
    implementations: Sequence[ImplementationInfo],
    semantics: Sequence[Mapping[str, Any]],
    reason: str = "",
    *,
    contracts: bool = False,
) -> Group:
    """A family's page, with a section for fields, semantics, implementations, options and checks.

    `semantics` come from :mod:`harness.catalog.family_questions`; `reason` says why there are none.
    `contracts` adds contracts and inputs, and shows whole descriptions.
    """
    options = [(f"{info.name} {o.name}", o) for info in implementations for o in info.options]
    details = [Text(reason), Text("")] if reason else []
    if contracts and not reason:
        details = [*_contracts_section(semantics), Text("")]
    return Group(
        Text(f"{family.name}: {family.question}", style="bold"),
        Text(f"modes: {', '.join(family.modes)}; declared in {family.file}\n", style="dim"),
        _fields_section("workload field", [(field.name, field) for field in family.fields]),
        _section(("semantics", "meaning"), [(s["name"], s["sentence"]) for s in semantics]),
        *details,
        implementations_table(implementations, one_line=not contracts),
        Text(""),
        _fields_section("option", options),
        _section(("check", "objection it answers"), family.checks.items()),
    )


def _contracts_section(semantics: Sequence[Mapping[str, Any]]) -> tuple[Group, Text]:
    """The contracts of results and gradients by semantics, the result's layout, and the inputs."""
    rows = [(s["name"], s["contract"], s["gradient"] or "no backward", s["layout"]) for s in semantics]
    table = _section(("semantics", "contract", "gradient contract", "result axes"), rows)
    return table, Text("\n".join(_array_lines(semantics)))


def _section(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> Group:
    """A table and a blank line; empty without rows."""
    table = plain_table(*titles)
    for row in rows:
        table.add_row(*map(Text, row))
    return Group(table, Text("")) if table.row_count else Group()


def _fields_section(title: str, fields: Iterable[tuple[str, Field]]) -> Group:
    rows = [
        (
            name,
            field.kind,
            "required" if field.required else canonical(field.default),
            _domain(field),
        )
        for name, field in fields
    ]
    return _section((title, "type", "default", "allowed"), rows)


def _domain(field: Field) -> str:
    """The allowed values of a field, in words."""
    usual = {
        "int": f"≥ {field.minimum}",
        "float": "any finite number",
        "bool": "true, false",
        "str": "any text",
    }
    file = ", FILE.csv" if field.table else ""
    file += ", FILE.npz, FILE.safetensors" if field.captured else ""
    return (", ".join(field.choices) or usual[field.kind]) + file + (", or none" if field.optional else "")


def _array_lines(semantics: Sequence[Mapping[str, Any]]) -> list[str]:
    """The inputs at each point, with the semantics defined there."""
    defined: dict[str, list[str]] = {}
    for entry in semantics:
        if entry["point"] is None:
            inputs = f"are not known: {entry['reason']}"
        else:
            at = ", ".join(f"{name}={canonical(value)}" for name, value in entry["point"].items())
            inputs = f"at {at}: {_arrays(entry['inputs'])}"
        defined.setdefault(inputs, []).append(entry["name"])
    return [f"inputs of {', '.join(names)} {inputs}" for inputs, names in defined.items()]


def _arrays(arrays: Iterable[Mapping[str, Any]]) -> str:
    return ", ".join(f"{array['name']} {array['dtype']} {list(array['shape'])}" for array in arrays)
