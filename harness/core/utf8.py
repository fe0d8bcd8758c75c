"""Text files of users, which are UTF-8."""

from harness.core.errors import UsageError


def decode_utf8(data: bytes, file: str) -> str:
    """The text of a file's bytes. UsageError names the line of what is no UTF-8."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UsageError(
            f"{file}:{line}: byte 0x{data[error.start]:02x} is not UTF-8; save the file as UTF-8"
        ) from None
