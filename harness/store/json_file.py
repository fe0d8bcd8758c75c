"""A file that holds one JSON value, indented for people."""

from pathlib import Path
from typing import Any

import msgspec

from harness.core import plain_data
from harness.core.errors import UsageError
from harness.core.regular_file import read_regular


def to_text(data: Any) -> bytes:
    """The file's content. TypeError when a value has no JSON form; numpy's numbers have Python's."""
    return msgspec.json.format(msgspec.json.encode(data, enc_hook=plain_data.plain_number), indent=2) + b"\n"


def digest(data: Any) -> str:
    """`sha256:…` of a value, whatever the order of its keys."""
    return f"sha256:{plain_data.digest(data)}"


def read_object(path: Path, remedy: str, form: Any = dict[str, Any]) -> dict[str, Any]:
    """The JSON object that a file holds, of a form that msgspec reads; what the form does not name is kept.

    UsageError, which ends in the remedy, where the file holds none.
    """
    try:
        data = read(path)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "not JSON"
        raise UsageError(f"{path}: cannot be read ({why}); {remedy}") from None
    try:
        plain_data.from_plain(form, data)
    except ValueError as error:
        raise UsageError(f"{path}: has another form ({error}); {remedy}") from None
    return data


def read(path: Path) -> Any:
    """The value that a file holds. OSError where it cannot be read, ValueError where it is not JSON."""
    try:
        return msgspec.json.decode(read_regular(path))
    except (msgspec.DecodeError, RecursionError) as error:
        raise ValueError(f"not JSON ({error})") from None
