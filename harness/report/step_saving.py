"""What an implementation saves in a step of a model, in words."""

from harness.analysis.compare import Comparison
from harness.analysis.results import SuiteRecords
from harness.core.units import format_count
from harness.report import format as fmt


def step_saving(panel: SuiteRecords, compared: Comparison) -> str:
    """`saves 1.9 ms [1.7, 2.1] of a step of glm-5 at 64Ki on this machine: 78 layers`, for each model.

    Empty without one, or where the comparison has no time. The interval is that of the baseline's time less
    the case's, times the layers.
    """
    models = [model for model in panel.models if compared.case in model.cases]
    if not models or compared.per_step_s is None:
        return ""
    sentences: list[str] = []
    for model in models:
        scale = model.layers / models[0].layers
        saved, low, high = (
            None if bound is None else bound * scale
            for bound in (compared.per_step_s, compared.per_step_low_s, compared.per_step_high_s)
        )
        layers = f"{model.layers} layer{'s' if model.layers > 1 else ''}"
        where = f"a step of {model.label} at {format_count(compared.seq * model.tokens)} on this machine"
        sentences.append(f"{_describe_time(saved or 0.0, low, high)} {where}: {layers}")
    return "; ".join(sentences)


def _describe_time(saved: float, low: float | None, high: float | None) -> str:
    """`saves 1.9 ms [1.7, 2.1] of`, `adds 1.9 ms [1.7, 2.1] to`, or that the interval allows of both."""
    if low is None or high is None:
        word, link = ("saves", "of") if saved >= 0 else ("adds", "to")
        return f"{word} {fmt.saved_time(abs(saved), None, None)} (no interval) {link}"
    if low <= 0 <= high:
        return f"saves nothing certain, {fmt.saved_time(saved, low, high)}, of"
    if saved > 0:
        return f"saves {fmt.saved_time(saved, low, high)} of"
    return f"adds {fmt.saved_time(-saved, -high, -low)} to"
