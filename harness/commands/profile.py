"""`profile` and `static --stages`: print the stages of a run, and which cases have none."""

from collections.abc import Sequence
from pathlib import Path

from harness.catalog.accelerators import HOST
from harness.commands.known_rooflines import known_rooflines
from harness.commands.output import console, print_json, print_note
from harness.core.record import Record
from harness.profile.cold_start import cold_cases, cold_data, cold_sentences, cold_table
from harness.profile.planned_stages import plan_stages, planned_data, print_planned
from harness.profile.report import print_profiles, profile_data
from harness.profile.roof_cell import roof_data
from harness.profile.stage_times import profiled_series
from harness.report.tables.render import print_tables


def print_profile(records: Sequence[Record], results: Path, *, json: bool) -> None:
    """Print every profiled case, with its share of the ceilings that `results` keeps.

    Standard error has a line for each that has no profile.
    """
    series, cold = profiled_series(records), cold_cases(records)
    rooflines = known_rooflines(results)
    for record in records:
        if record.profile is None:
            warnings = record.timing.warnings if record.timing else ()
            why = record.reason or next((w for w in warnings if w.startswith("not profiled")), "not profiled")
            print_note(f"{record.case}: {why}")
    if json:
        roofs, colds = list(roof_data(series, rooflines)), cold_data(cold)
        data = {**profile_data(series), "roofs": roofs, "cold_starts": colds}
        print_json({**data, "records": [record.to_json() for record in records]})
        return
    terminal = console()
    print_profiles(terminal, series, rooflines)
    for sentence in cold_sentences(cold):
        terminal.print(sentence, soft_wrap=True)
    if cold:
        print_tables(terminal, cold_table(cold))


def print_planned_stages(
    records: Sequence[Record], results: Path, targets: Sequence[str], *, json: bool
) -> None:
    """Print the stages of every traced case; standard error has a line for each that has none."""
    rooflines = known_rooflines(results)
    cases = {record.case: plan_stages(record, targets, rooflines) for record in records}
    planned = sorted(
        filter(None, cases.values()), key=lambda case: (case.record.as_case.series, case.record.seq)
    )
    for record in records:
        if cases[record.case] is None:
            host = record.static.get(HOST)
            why = record.reason or (host and host.unavailable.get("flops")) or "no stage is marked"
            print_note(f"{record.case}: no planned stages: {why}")
    if json:
        print_json({"planned": planned_data(planned), "records": [record.to_json() for record in records]})
    else:
        print_planned(console(), planned)
