"""The forms of a run's JSON files: the types of the fields that readers use. Other fields are not checked.

Null means an unknown value. The annotations are not strings, because msgspec reads them.
"""

from typing import Annotated, Any, Required, TypedDict

from msgspec import Meta

SCHEMA = 1  # of run.json
MOST_SHARDS = 999_999

Label = Annotated[str, Meta(pattern="^[^/]+/.")]  # `family/name[option=value,…]`
Count = Annotated[int, Meta(ge=1)]


class SettingsForm(TypedDict, total=False):
    budget_s: Annotated[float, Meta(gt=0)] | None
    memory_bytes: Count | None


class ModelForm(TypedDict, total=False):
    """A model that gives a suite its fields, for one device in a phase."""

    label: Required[str]
    layers: Required[Count]
    tokens: Required[Count]
    cases: Required[list[str]]
    source: Required[dict[str, str]]
    note: str | None


class SuiteForm(TypedDict, total=False):
    family: Required[str]
    cases: Required[list[str]]
    baseline: str | None
    implementations: list[Label] | None
    layers: Count | None
    models: list[ModelForm]
    question: str | None
    settings: SettingsForm | None


class ShardForm(TypedDict):
    index: Count
    count: Annotated[int, Meta(ge=1, le=MOST_SHARDS)]
    sweep: str


class FitForm(TypedDict, total=False):
    suite: Required[str]
    implementation: Required[Label]
    panel: Required[str]
    target: Required[str]
    seq: Required[int | None]
    beyond: Required[int | None]
    reason: Required[str | None]


class RunForm(TypedDict, total=False):
    """run.json; a joined run has those of its shards."""

    schema: int
    run: str | None
    command: list[str] | None
    depth: str | None
    started: str | None
    finished: str | None
    version: str | None
    settings: SettingsForm | None
    sources: dict[str, str] | None
    replicates: Count | None
    suites: dict[str, SuiteForm] | None
    shard: ShardForm | None
    shards: dict[str, "RunForm"] | None
    targets: list[str] | None
    extras: list[str] | None
    largest: list[FitForm] | None
    problems: list[str] | None
    overhead: dict[str, float | None] | None


class AcceleratorForm(TypedDict, total=False):
    name: str | None


class FactsForm(TypedDict, total=False):
    """A fingerprint."""

    device: str | None
    cpu: str | None
    cpu_flags: list[str] | None
    gpu: AcceleratorForm | None
    tpu: AcceleratorForm | None
    cores: Count | None
    threads: Count | None
    memory_gib: Annotated[float, Meta(gt=0)] | None
    kernel: str | None
    python: str | None
    versions: dict[str, str | None] | None
    flags: dict[str, str] | None
    caches: dict[str, Any] | None


class GitForm(TypedDict, total=False):
    commit: str | None
    dirty: bool | None


class EnvironmentForm(TypedDict, total=False):
    time: str | None
    load: Annotated[list[float], Meta(min_length=1)] | None
    git: GitForm | None
