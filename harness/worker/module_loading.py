"""Loads an implementation's module; in a gate, it must come from the folder of its side."""

from pathlib import Path
from types import ModuleType

from harness.catalog import loading
from harness.core.errors import SideError
from harness.core.protocol import Job
from harness.core.shown_text import message_of


def load_module(job: Job) -> ModuleType:
    """The module of a job. SideError in a gate, if it does not load or comes from another folder."""
    try:
        module = loading.load(job.module)
    except Exception as error:
        if job.side is None:
            raise
        raise SideError(
            f"the {job.side} does not load: {type(error).__name__}: {message_of(error)}"
        ) from error
    file = Path(module.__file__ or "").resolve()
    if job.within is not None and not file.is_relative_to(Path(job.within).resolve()):
        raise SideError(
            f"{module.__name__} was imported from {file}, not from {job.within}; "
            "remove the module that shadows it"
        )
    return module
