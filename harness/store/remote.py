"""Stored runs behind a URL (`s3://`, `gs://`, `file://`, …): their files are copied here and read there.

The drivers are those of fsspec that are installed. Writing stays local.
"""

import hashlib
import os
from pathlib import Path, PurePosixPath
from typing import Any

from harness.core.errors import MachineError, UsageError
from harness.core.plain_data import from_plain
from harness.store import json_file
from harness.store.atomic import write_files
from harness.store.rooflines import FILE as ROOFLINES
from harness.store.stored_run import CRASHES, ENVIRONMENTS, FINGERPRINTS, INFO, NOTES, RECORDS

READ = frozenset({INFO, RECORDS, FINGERPRINTS, ENVIRONMENTS, NOTES, ROOFLINES})
STAMPS = "stamps.json"  # what the driver said of each copied file: size, time, ETag


def is_url(text: str) -> bool:
    return "://" in text


def readable(place: str | Path) -> Path:
    """The folder to read: a URL's local copy, brought up to date, or the local folder itself."""
    text = str(place)
    return _local_copy(text) if is_url(text) else Path(text)


def _local_copy(url: str) -> Path:
    """Copy what has changed since the last time. UsageError for a URL that cannot be read or holds no run."""
    copies = _cache_folder() / "seqsweep" / "remote" / hashlib.sha256(url.encode()).hexdigest()[:20]
    folder = copies / PurePosixPath(url.partition("://")[2]).name
    known = _read_stamps(copies / STAMPS)
    try:
        from fsspec.core import url_to_fs

        system, root = url_to_fs(url.rstrip("/"))
        system.invalidate_cache()
        stamps = _stamps(system, root)
        for name, stamp in stamps.items():
            path = folder / name
            if known.get(name) != stamp or not path.is_file():
                write_files(path.parent, {path.name: system.cat_file(f"{root}/{name}")})
    except MachineError:
        raise
    except Exception as error:  # each driver raises kinds of its own
        why = str(error) or type(error).__name__
        raise UsageError(
            f"{url}: cannot be read ({why}); name another place, or install its driver"
        ) from None
    if not stamps:
        raise UsageError(f"{url} holds no runs; name a folder of results, or of one run")
    for name in known.keys() - stamps.keys():
        (folder / name).unlink(missing_ok=True)
    write_files(copies, {STAMPS: json_file.to_text(stamps)})
    return folder


def _cache_folder() -> Path:
    """The user's cache folder. MachineError where neither XDG_CACHE_HOME nor a home folder is known."""
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:
        raise MachineError(
            "this user has no home folder to copy the runs to; set HOME or XDG_CACHE_HOME"
        ) from None


def _read_stamps(path: Path) -> dict[str, str]:
    """The stamps of an earlier copy; empty where they are missing or damaged, so that all is copied again."""
    try:
        return from_plain(dict[str, str], json_file.read(path))
    except (OSError, ValueError):
        return {}


def _stamps(system: Any, root: str) -> dict[str, str]:
    """The files of runs below a root, by their relative path, each with what the driver says of it.

    A name that would lead out of the folder is left out.
    """
    stamps: dict[str, str] = {}
    for name, facts in system.find(root, detail=True).items():
        path = PurePosixPath(name.removeprefix(f"{root}/"))
        wanted = path.name in READ or path.parent.name == CRASHES
        if wanted and not path.is_absolute() and ".." not in path.parts:
            stamps[str(path)] = hashlib.sha256(str(sorted(facts.items())).encode()).hexdigest()
    return stamps
