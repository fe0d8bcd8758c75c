"""Derivation of a model's workload in a family, by the family's own function.

Built-in families are called in this process. A plugin's import may do anything, so its family is called in a
child process: `python -m harness.catalog.derive QUESTION` answers as JSON.
"""

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict

from harness.catalog import child_process, loading
from harness.catalog.catalog import FamilyInfo
from harness.catalog.models import PHASES, ModelWorkload, model
from harness.core.errors import Unsupported, UsageError
from harness.core.plain_data import from_plain

SECONDS = 60.0


class NotDerivableError(UsageError):
    """A family derives no workload from a model; the message says why in one sentence."""


def derive(family: FamilyInfo, name: str, phase: str) -> ModelWorkload:
    """A model's workload in a phase. NotDerivableError where the family derives none."""
    question = {"module": family.module, "family": family.name, "model": name, "phase": phase}
    if family.module.startswith("impls."):
        return _answer(question)
    try:
        answer = child_process.ask([__spec__.name, json.dumps(question)], SECONDS)
    except child_process.NoAnswer as error:
        raise NotDerivableError(str(error)) from None
    return from_plain(ModelWorkload, answer)


def _answer(question: Mapping[str, str]) -> ModelWorkload:
    family = loading.family_called(loading.load(question["module"]), question["family"])
    preset = model(question["model"])
    if family.of_model is None:
        raise NotDerivableError(f"{family.name} has nothing that follows from a model; leave the model out")
    try:
        return family.of_model(preset, PHASES[question["phase"]])
    except Unsupported as error:
        raise NotDerivableError(f"{family.name} of {preset.name}: {error}") from None


if __name__ == "__main__":
    child_process.answer(lambda: asdict(_answer(json.loads(sys.argv[1]))))
