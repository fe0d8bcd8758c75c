"""Ids of runs and gates: they sort by time, and a new one is greater than all there are."""

import hashlib
import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

FORM = "%Y%m%dT%H%M%SZ"
ID = re.compile(r"(\d{8}T\d{6}Z)-[0-9a-f]{7}")


def is_run_id(name: str) -> bool:
    return ID.fullmatch(name) is not None


def new_run_id(now: datetime, salt: str, present: Iterable[str] = ()) -> str:
    """`20261120T113000Z-1a2b3c4`: the time, and a digest of it with the salt, for two that come at once.

    Where the clock was set back, the time is that of the newest id that is `present`, and a second: what
    was made last is the latest, whatever the clock says.
    """
    moment = max([now.astimezone(UTC), *(time for name in present if (time := _time_after(name)))])
    digest = hashlib.sha256(f"{moment.isoformat()}{salt}".encode()).hexdigest()
    return f"{moment:{FORM}}-{digest[:7]}"


def _time_after(name: str) -> datetime | None:
    """The second after an id's time; None for another name, and where no time follows."""
    match = ID.fullmatch(name)
    try:
        return match and datetime.strptime(match[1], FORM).replace(tzinfo=UTC) + timedelta(seconds=1)
    except (ValueError, OverflowError):
        return None
