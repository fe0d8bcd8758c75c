"""Files with one JSON value, indented for readers."""

from pathlib import Path
from typing import Any

import msgspec

from harness.core import plain_data
from harness.core.errors import UsageError
from harness.core.regular_file import read_regular


def to_text(data: Any) -> bytes:
    """The file's content; numpy's numbers become Python's. TypeError if a value has no JSON form."""
    return msgspec.json.format(msgspec.json.encode(data, enc_hook=plain_data.plain_number), indent=2) + b"\n"


def digest(data: Any) -> str:
    """`sha256:…` of a value, independent of the order of its keys."""
    return f"sha256:{plain_data.digest(data)}"


def read_object(path: Path, remedy: str, form: Any = dict[str, Any]) -> dict[str, Any]:
    """The JSON object in a file, checked against a form that msgspec reads, with its unknown fields.

    UsageError, which ends in the remedy, if the file has no such object.
    """
    try:
        data = read(path)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "not JSON"
        raise UsageError(f"{path}: cannot be read ({why}); {remedy}") from None
    try:
        plain_data.from_plain(form, data)
    except ValueError as error:
        raise UsageError(f"{path}: has an invalid form ({error}); {remedy}") from None
    return data


def read(path: Path) -> Any:
    """The value in a file. OSError if it cannot be read, ValueError if it is not JSON."""
    try:
        return msgspec.json.decode(read_regular(path))
    except (msgspec.DecodeError, RecursionError) as error:
        raise ValueError(f"not JSON ({error})") from None
