"""`profile`: print the stages of a run, and which cases have none."""

from collections.abc import Sequence
from pathlib import Path

from harness.commands.measured_rooflines import known_rooflines
from harness.commands.output import console, print_json, print_note
from harness.core.record import Record
from harness.profile.report import print_profiles, profile_data, roof_data
from harness.profile.stage_times import profiled_series


def print_profile(records: Sequence[Record], results: Path, *, json: bool) -> None:
    """Print every profiled case, with its share of the ceilings that `results` keeps.

    Standard error has a line for each that has no profile.
    """
    series, rooflines = profiled_series(records), known_rooflines(results)
    for record in records:
        if record.profile is None:
            warnings = record.timing.warnings if record.timing else ()
            why = record.reason or next((w for w in warnings if w.startswith("not profiled")), "not profiled")
            print_note(f"{record.case}: {why}")
    if json:
        data = {**profile_data(series), "roofs": list(roof_data(series, rooflines))}
        print_json({**data, "records": [record.to_json() for record in records]})
    else:
        print_profiles(console(), series, rooflines)
