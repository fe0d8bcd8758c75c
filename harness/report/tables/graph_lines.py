"""The dispatch time that CUDA graphs save, in a sentence per case; it enters no speedup."""

from collections.abc import Sequence

from harness.core.grouped import collected
from harness.core.median_interval import median_interval
from harness.core.record import NO_GRAPH, Record
from harness.report import format as fmt

SAVED = "dispatch saved by CUDA graphs"


def graph_lines(records: Sequence[Record]) -> list[str]:
    """`mask/scatter@…: dispatch saved by CUDA graphs: eager 120 µs [118, 123], replay 40 µs [39, 41]`.

    Cases without replays for one reason share a line: the first is named, the others are counted.
    """
    lines: list[str] = []
    for record in records:
        if record.graphs is not None:
            eager, replay = median_interval(record.graphs.eager_s), median_interval(record.graphs.replay_s)
            apart = None not in (eager[1], replay[2]) and (replay[2] or 0) < (eager[1] or 0)
            saved = SAVED if apart else f"{SAVED}: none that shows"
            texts = [" ".join(filter(None, fmt.seconds(*way))) for way in (eager, replay)]
            process = f" (process {record.replicate + 1})" if record.replicate else ""
            lines.append(f"{record.case}{process}: {saved}: eager {texts[0]}, replay {texts[1]}")
    warnings = ((text, record.case) for record in records if record.timing for text in record.timing.warnings)
    refused = collected((text, case) for text, case in warnings if text.startswith(NO_GRAPH))
    for warning, cases in refused.items():
        more = f" and {len(cases) - 1} more" if len(cases) > 1 else ""
        lines.append(f"{cases[0]}{more}: {warning}; the eager figures stand")
    return lines
