"""The plan of a gate (`--dry-run`): which cases, against what, and the time it takes at most."""

from typing import Any

from harness.core.units import format_seconds
from harness.gate.options import GateOptions
from harness.gate.plan import GatePlan


def plan_data(plan: GatePlan, options: GateOptions) -> dict[str, Any]:
    """The plan for --json; `seconds_at_most` is None without a clock."""
    return {
        "base": plan.base,
        "measured": sorted(case.id for case in plan.opponents if case.id not in plan.new),
        "same_code": sorted(case.id for case in plan.same_code),
        "new": dict(plan.new),
        "vanished": list(plan.vanished),
        "left_out": dict(plan.left_out),
        "settings": {suite.name: suite.settings for suite in plan.schedule.suites},
        "deltas": {} if options.static else plan.deltas,
        "seconds_at_most": None if options.static else options.budget_s,
        "pairs_at_most": None if options.static else options.max_pairs,
    }


def plan_lines(data: dict[str, Any]) -> list[str]:
    """The plan in lines: a heading for each kind of case, and its ids below."""
    kinds = {
        "measured": "measured" if data["seconds_at_most"] else "compiled and verified on both sides",
        "same_code": "same code on both sides, not measured (--all measures them)",
        "new": "new, so without a verdict",
        "vanished": "vanished",
        "left_out": "left out",
    }
    lines = [f"the working tree against {data['base']}"]
    for key, heading in kinds.items():
        if data[key]:
            lines += ["", f"{heading}: {len(data[key])}", *(f"  {case}" for case in data[key])]
    lines.append("")
    for suite, settings in data["settings"].items():
        catches = f"Δ {100 * data['deltas'][suite]:g} %, " if suite in data["deltas"] else ""
        lines.append(f"{suite}: {catches}{settings.sentence}")
    seconds, pairs = data["seconds_at_most"], data["pairs_at_most"]
    if not data["measured"]:
        end = "nothing would be measured"
    elif seconds:
        end = f"at most {format_seconds(seconds, 2)} (--budget) and {pairs} pairs of processes (--max-pairs)"
    else:
        end = "no clock: the time is that of compiling both sides once"
    return [*lines, end]
