"""The flags that override or narrow bench.yaml."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from harness.core.errors import UsageError, nearest
from harness.core.workload import DEVICES, MODES
from harness.sweep.yaml_nodes import Scalar


@dataclass(frozen=True)
class Overrides:
    """Overrides of bench.yaml, as typed. Lists replace its lists; duplicate values count once.

    `impls` restricts a suite to these implementations, and adds those of its family that it does not list.
    `fields` has `--set FIELD=VALUE,…`. `plugins` has the ids that --plugin files register, which join every
    selected suite of their family. `quick`: the two smallest lengths and a tenth of bench.yaml's budget.
    `models` has `--model`, `--tp` and `--phase`. `every_choice_of` is a field that takes all its choices
    unless a flag or the suite lists some. `elsewhere`: a model's suites are planned only for absent
    accelerators. `compiled_only`: nothing runs, so no reference is needed.
    """

    families: tuple[str, ...] = ()
    impls: tuple[str, ...] = ()
    seqs: tuple[str, ...] = ()
    modes: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    fields: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    baseline: str | None = None
    quick: bool = False
    replicates: int = 1
    settings: Mapping[str, str] = field(default_factory=dict[str, str])
    plugins: tuple[str, ...] = ()
    shard: str | None = None
    models: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    every_choice_of: str | None = None
    elsewhere: bool = False
    compiled_only: bool = False

    def axes(self) -> dict[str, tuple[Scalar, ...]]:
        """The workload fields given by --seq and --set, by name."""
        fields = {name: _flag_scalars(f"--set {name}", values) for name, values in self.fields.items()}
        if self.seqs:
            if "seq" in fields:
                raise UsageError("--set seq: cannot be combined with --seq; use one of the two")
            fields["seq"] = _flag_scalars("--seq", self.seqs)
        return fields

    def model_keys(self) -> dict[str, tuple[Scalar, ...]]:
        """The values of the flags on models, under bench.yaml's keys."""
        return {key: _flag_scalars(f"--{key}", values) for key, values in self.models.items()}

    def check(self) -> None:
        """UsageError for values that are invalid in any suite."""
        for flag, values, known in (("--mode", self.modes, MODES), ("--device", self.devices, DEVICES)):
            for value in values:
                if value not in known:
                    near = '; nearest: "cuda"' if value == "gpu" else nearest(value, known)
                    raise UsageError(f'{flag}: unknown {flag[2:]} "{value}"{near}')
        if self.replicates < 1:
            raise UsageError(f"--replicates: must be at least 1, not {self.replicates}")


def _flag_scalars(flag: str, values: Sequence[str]) -> tuple[Scalar, ...]:
    return tuple(Scalar.from_text(flag, text) for text in dict.fromkeys(values))
