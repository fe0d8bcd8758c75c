"""The models that give a suite its fields: `model`, `tp` and `phase` of bench.yaml or flags."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from harness.catalog.catalog import FamilyInfo
from harness.catalog.family_questions import NotDerivableError, derive
from harness.catalog.models import PHASES, model
from harness.core.errors import UsageError
from harness.core.units import format_count, parse_count
from harness.core.workload import Value, canonical
from harness.sweep.yaml_nodes import Scalar, at, choices


@dataclass(frozen=True, eq=False)
class ModelPoint:
    """The workload of a family for one of `tp` devices that run a model in a phase.

    `layers` is the number of the model's layers that make the call in a step. One element of `seq` means
    `tokens` tokens of context; the model makes the call up to a context of `longest`. Fields `changed` have
    the value of a flag, not the model's. `source` is the publisher's source of the fields; `cases` are ids.
    `semantics` and `note` come from the family.
    """

    name: str
    tp: int
    phase: str
    source: Mapping[str, str]
    fields: Mapping[str, Value]
    layers: int
    tokens: int
    longest: int
    semantics: tuple[str, ...]
    note: str
    changed: tuple[str, ...] = ()
    cases: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """`deepseek-v3.2 (tp 8, decode, rows set by hand)`; without details: one device, prefill."""
        shard = f"tp {self.tp}" if self.tp > 1 else ""
        phase = self.phase if self.phase != "prefill" else ""
        changed = f"{', '.join(self.changed)} set by hand" if self.changed else ""
        details = ", ".join(filter(None, (shard, phase, changed)))
        return f"{self.name} ({details})" if details else self.name

    def to_json(self) -> dict[str, Any]:
        """The point for run.json."""
        return {"label": self.label, **asdict(self)}

    def beyond(self, seq: int) -> str | None:
        """Why the model does not make calls of this length; None if it does."""
        if seq * self.tokens <= self.longest:
            return None
        return f"{self.name} uses lengths up to {format_count(self.longest // self.tokens)}; lower --seq"


def model_points(
    family: FamilyInfo, keys: Mapping[str, Sequence[Scalar]], given: Collection[str]
) -> tuple[tuple[ModelPoint, ...], tuple[NotDerivableError, ...]]:
    """The points of every model at every `tp`, and the errors of models without points.

    Fields `given` by flags replace the model's. UsageError, with the place, if `tp` does not divide heads.
    """
    if "model" not in keys:
        for name, values in keys.items():
            raise UsageError(f"{values[0].where}: {name} needs a model, for example --model deepseek-v3.2")
        return (), ()
    phases = keys.get("phase") or (Scalar.from_text("phase", "prefill"),)
    if len(phases) > 1:
        raise UsageError(f"{phases[1].where}: a suite has one phase; write one suite for each phase")
    (phase,) = choices(phases[0], "phase", tuple(PHASES))
    sizes = keys.get("tp") or (Scalar.from_text("tp", "1"),)
    points: list[ModelPoint] = []
    lacking: list[NotDerivableError] = []
    for name in keys["model"]:
        try:
            points += [_point(family, name, tp, phase, given) for tp in sizes]
        except NotDerivableError as error:
            lacking.append(error)
    return tuple(points), tuple(lacking)


def _point(family: FamilyInfo, name: Scalar, tp: Scalar, phase: str, given: Collection[str]) -> ModelPoint:
    with at(name.where):
        preset = model(name.text)
        derived = derive(family, name.text, phase)
        fields = {field: family.field(field).parse(canonical(v)) for field, v in derived.fields.items()}
    with at(tp.where):
        devices = parse_count(tp.text)
        if devices < 1:
            raise UsageError(f"tp {tp.text}: must be at least 1")
        shard = derived.shard(devices)
    return ModelPoint(
        name=preset.name,
        tp=devices,
        phase=phase,
        source=preset.source,
        fields={field: shard.fields[field] for field in fields if field not in given},
        layers=derived.layers,
        tokens=derived.tokens,
        longest=derived.longest or preset.positions,
        semantics=derived.semantics,
        note=derived.note,
        changed=tuple(field for field in fields if field in given),
    )
