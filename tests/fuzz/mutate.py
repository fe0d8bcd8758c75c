"""Mutations of valid inputs: changed, cut and doubled bytes, and replaced JSON values."""

import json
import zlib

TOKENS = (
    b"null", b"true", b"-1", b"0", b"1e999", b"9" * 40, b"NaN", b'"', b"[", b"{", b"}", b",", b":", b"\n",
    b"\x00", b"\xff", b"\\u0000", b"\\ud800", b"\xe2\x80\xae", b"\x1b[2J", b"<script>", b"![](x)",
    b"!!python/name:os", b"&a", b"*a", b"..", b"Ki", b"=", b"@", b"~", b"crc32", b"schema", b"use", b"seq",
    b"[[[[[[",
)  # fmt: skip
ODD = (
    None, True, False, 0, -1, 2**63, 1e308, -0.0, "", "x" * 300, "\x1b[31m", "none", [], {}, [[]],
    {"seq": 1}, "NaN",
)  # fmt: skip


def mutated(random, data):
    """The bytes after one to four changes."""
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        at = random.randrange(len(data) + 1)
        end = min(len(data), at + random.choice((1, 1, 2, 8, 64)))
        match random.randrange(7):
            case 0:
                flipped = bytes(byte ^ 1 << random.randrange(8) for byte in data[at : at + 1])
                data = data[:at] + flipped + data[at + 1 :]
            case 1:
                data = data[:at] + data[end:]
            case 2:
                data = data[:end] + data[at:]
            case 3:
                data = data[:at] + random.choice(TOKENS) + data[at:]
            case 4:
                data = data[:at]
            case 5:
                data = data[:at] + random.choice(TOKENS) + data[end:]
            case _:
                lines = data.splitlines(keepends=True)
                random.shuffle(lines)
                data = b"".join(lines)
    return data


def places(value, path=()):
    """The paths of all values in plain data."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, held in inside:
        yield (*path, key)
        yield from places(held, (*path, key))


def other_value(random, data):
    """Plain data with one value replaced, taken out, or moved."""
    data = json.loads(json.dumps(data))
    *way, last = random.choice(list(places(data)) or [("x",)])
    holder = data
    for key in way:
        holder = holder[key]
    if isinstance(holder, dict) and random.random() < 0.2:
        holder.pop(last, None)
    elif isinstance(holder, dict) and random.random() < 0.1:
        holder[random.choice(("use", "seq", "runs", "x"))] = holder.pop(last, None)
    else:
        holder[last] = random.choice(ODD)
    return data


def sealed(data):
    """A line of records.jsonl with a checksum that fits."""
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode(
        errors="replace"
    )
    return b'%b,"crc32":"%08x"}' % (text[:-1], zlib.crc32(text))
