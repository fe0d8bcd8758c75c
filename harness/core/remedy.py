"""Remedies: the flags that may let a failed case run."""

from enum import StrEnum

from harness.core.record import Record


class Remedy(StrEnum):
    """A flag, and the direction in which to change it."""

    MORE_MEMORY = "raise --memory"
    LESS_MEMORY = "lower --memory"
    MORE_TIME = "raise --timeout"
    MORE_BUDGET = "raise --budget"
    SHORTER = "lower --seq"


BY_STATUS = {"oom": Remedy.MORE_MEMORY, "timeout": Remedy.MORE_TIME}


def remedy_of(record: Record) -> str:
    """The flag that may let a case run; empty if unknown.

    Records of earlier versions have it only in their reason.
    """
    if record.remedy is not None or record.status == "ok":
        return record.remedy or ""
    named = (remedy for remedy in Remedy if remedy in (record.reason or ""))
    return next(named, BY_STATUS.get(record.status, ""))
