"""A receipt's data as they stand in its text: JSON, compressed, in letters that end no HTML comment."""

import binascii
import zlib
from base64 import b64decode, b64encode

import msgspec

from harness.core.plain_data import from_plain, plain_number
from harness.findings.receipt import SCHEMA, Receipt

MOST_BYTES = 1 << 25  # of JSON: a few kilobytes could otherwise unfold to gigabytes


def pack(receipt: Receipt) -> str:
    plain = msgspec.json.encode(receipt, enc_hook=plain_number)
    return b64encode(zlib.compress(plain, 9)).decode()


def unpack(packed: str) -> Receipt:
    """ValueError for what :func:`pack` did not write, or not in this version."""
    stream = zlib.decompressobj()
    try:
        plain = stream.decompress(b64decode(packed, validate=True), MOST_BYTES)
    except (binascii.Error, zlib.error):
        raise ValueError("damaged") from None
    if not stream.eof:
        raise ValueError("damaged" if len(plain) < MOST_BYTES else f"beyond {MOST_BYTES} bytes")
    data = msgspec.json.decode(plain)
    schema = data.get("schema") if isinstance(data, dict) else None
    if schema != SCHEMA:
        raise ValueError(f"of schema {schema}, and this seqsweep reads schema {SCHEMA}")
    return from_plain(Receipt, data)
