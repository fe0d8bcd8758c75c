"""The host's share of calls that are timed on a device: where launching takes longer than computing."""

from harness.analysis.results import SuiteRecords, representative
from harness.core.grouped import collected
from harness.core.units import format_count, format_seconds
from harness.report.format import short_label

BOUND = 1.25  # times its time on the device that a call takes from dispatch to result
MOST = 4  # implementations that a sentence names


def launch_lines(suite: SuiteRecords) -> list[str]:
    """`Launch-bound: dense below 16Ki (at 4Ki 134 µs on the device, 190 µs from call to result).`"""
    timed = collected(
        (records.label, (records[0].seq, timing))
        for records in suite.by_case.values()
        if (timing := representative(records).timing) is not None and timing.latency_s is not None
    )
    texts: list[str] = []
    for label, cases in timed.items():
        bound = [each for each in cases if (each[1].latency_low_s or 0.0) > BOUND * each[1].median_s]
        if bound:
            seq, timing = max(bound, key=lambda each: each[0])
            longer = [other for other, _ in cases if other > seq]
            where = f"below {format_count(min(longer))}" if longer else f"up to {format_count(seq)}"
            took = f"{format_seconds(timing.median_s)} on the device"
            latency = f"{format_seconds(timing.latency_s or 0.0)} from call to result"
            texts.append(f"{short_label(label)} {where} (at {format_count(seq)} {took}, {latency})")
    more = f"; and {len(texts) - MOST} more" if len(texts) > MOST else ""
    return [f"Launch-bound: {'; '.join(texts[:MOST])}{more}."] if texts else []
