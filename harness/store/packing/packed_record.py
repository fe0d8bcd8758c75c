"""A record as its line holds it: without defaults, without what follows from the rest, readings as ticks.

The defaults of `Record`, and of what it holds, belong to the format: a line that lacks a field means them.
What several lines share stands once, in a definition that is named after its content: see `definitions.py`.
"""

import base64
import dataclasses
import struct
import typing
from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import groupby
from operator import ne
from typing import Any

import msgspec

from harness.core.case import Case
from harness.core.plain_data import from_plain
from harness.core.record import SCHEMA as WHOLE
from harness.core.record import Profile, Record, Timing
from harness.core.static_figures import Static
from harness.store.packing.squeeze import LEAST_BYTES, squeeze, unsqueeze

SCHEMA = 2  # of a line; 1 is a record as `Record.to_json` has it
MEASURED = ("lower_s", "compile_s")  # of a Static: no two compilations take the same
RECORD, STATIC, TIMING = "record", "static", "timing"  # what a definition is a part of
TICK = 2.0**-40  # seconds: clocks that count from the machine's start are floats of no finer grain
MOST_TICKS = 1 << 53  # a float holds every whole number up to here

Fields = Mapping[str, Any]  # that a definition gives
Definitions = Mapping[str, Fields]  # by their name
Names = tuple[str, ...]
Bases = dict[tuple[Names, int | None], tuple[dict[str, Any], dict[str, Any]]]  # fields; the case where known
Runs = tuple[tuple[int, int, int], ...]
IDENTIFYING = frozenset(("implementation", "options", "workload", "mode", "device"))  # give the case's id
MOST_BASES = 4096


def _partial(kind: type, name: str, *left_out: str, **more: Any) -> Any:
    """The form of a dataclass's fields, any of which may be missing: msgspec reads it as a dictionary."""
    hints: dict[str, Any] = typing.get_type_hints(kind)
    fields = {field: hints[field] for field in hints if field not in left_out}
    make: Any = typing.TypedDict  # a type checker wants the fields written out
    return make(name, {**fields, **more}, total=False)


PackedTiming: Any = _partial(
    Timing, "PackedTiming", "samples_s", "round", use=Names, least=int, readings=bytes, high=bytes, runs=Runs
)
PackedStatic: Any = _partial(Static, "PackedStatic", use=Names, squeezed=bytes)
PackedRecord: Any = _partial(
    Record, "PackedRecord", append=tuple[int, int], use=Names, timing=PackedTiming | None,
    static=dict[str, PackedStatic] | bytes, profile=Profile | bytes | None,
)  # fmt: skip
_STATIC: Any = msgspec.json.Decoder(PackedStatic)
_STATICS: Any = msgspec.json.Decoder(dict[str, PackedStatic])
_PROFILE = msgspec.json.Decoder(Profile)
FORMS: Mapping[str, Any] = {RECORD: PackedRecord, STATIC: PackedStatic, TIMING: PackedTiming}


def pack_record(record: Record) -> dict[str, Any]:
    """The record as plain data, without what :func:`unpack_record` finds out by itself."""
    data: dict[str, Any] = {**_without_defaults(record), "schema": SCHEMA}
    del data["workload"]["seq"]  # lengths share the rest
    if record.case == record.as_case.id:
        data.pop("case")
    if record.timing is not None:
        data["timing"] = _pack_timing(record.timing)
    if record.profile is not None:
        data["profile"] = squeeze_plain(data["profile"])
    return data


def unpack_record(own: dict[str, Any], known: Definitions, bases: Bases) -> Record:
    """The record of a PackedRecord. ValueError where a definition is missing, or fields contradict.

    `bases` keeps what definitions give together at a length, as most lines of a file use the same ones.
    """
    use, seq = own.pop("use", ()), own.get("seq")
    if (use, seq) not in bases:
        if len(bases) > MOST_BASES:
            bases.clear()
        base = _with_length(_fields_of_definitions(use, known), seq)
        bases[use, seq] = (base, _identity(base))
    base, identity = bases[use, seq]
    if not IDENTIFYING.isdisjoint(own):
        own = _with_length(own, seq)
        identity = _identity(base | own)
    values: dict[str, Any] = {**identity, **base, **own, "schema": WHOLE}
    values.pop("append", None)
    try:
        if timing := own.get("timing"):
            values["timing"] = _unpack_timing(timing, known)
        if static := own.get("static"):
            statics = _STATICS.decode(unsqueeze(static)) if isinstance(static, bytes) else static
            values["static"] = {target: _unpack_static(each, known) for target, each in statics.items()}
        if isinstance(profile := own.get("profile"), bytes):
            values["profile"] = _PROFILE.decode(unsqueeze(profile))
        return Record(**values)
    except TypeError as error:  # a field without a value, or one that a record has not
        raise ValueError(f"not a record: {error}") from None


def squeeze_plain(data: dict[str, Any]) -> dict[str, Any] | str:
    """The plain data, as one text where it is long."""
    text = msgspec.json.encode(data, order="deterministic")
    return data if len(text) < LEAST_BYTES else squeeze(text)


def plain_of(data: Any) -> Any:
    """The plain data, decompressed where it is a text. ValueError for a text that was not compressed here."""
    return msgspec.json.decode(unsqueeze(from_plain(bytes, data))) if isinstance(data, str) else data


def _fields_of_definitions(use: Iterable[str], known: Definitions) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name in use:
        if name not in known:
            raise ValueError(f"it needs definition {name}, which no readable line before it gives")
        values |= known[name]
    return values


def _with_length(values: dict[str, Any], seq: int | None) -> dict[str, Any]:
    """The fields with a whole workload. Earlier versions wrote its length in it, and nowhere else."""
    if seq is None or "workload" not in values:
        return values
    return values | {"workload": dict(sorted({**values["workload"], "seq": seq}.items()))}


def _identity(values: Mapping[str, Any]) -> dict[str, Any]:
    """The case's id and its length, where the fields that they follow from are there."""
    try:
        options, workload = values.get("options", {}), values["workload"]
        case = Case.of(values["implementation"], options, workload, values["mode"], values["device"])
        return {"case": case.id, "seq": workload["seq"]}
    except KeyError:
        return {}


def _unpack_static(own: dict[str, Any], known: Definitions) -> Static:
    base = _fields_of_definitions(own.pop("use", ()), known)
    if text := own.pop("squeezed", None):  # of a target of its own: earlier versions wrote that
        base |= _STATIC.decode(unsqueeze(text))
    return Static(**base, **own)


def _without_defaults(value: Any) -> Any:
    """Plain data of a value, without the fields of dataclasses that stand at their default."""
    if dataclasses.is_dataclass(value):
        return {
            entry.name: _without_defaults(held)
            for entry in dataclasses.fields(value)
            if not _is_default(entry, held := getattr(value, entry.name))
        }
    if isinstance(value, Mapping):
        return {key: _without_defaults(held) for key, held in value.items()}
    return [_without_defaults(held) for held in value] if isinstance(value, (list, tuple)) else value


def _is_default(entry: "dataclasses.Field[Any]", value: Any) -> bool:
    default = entry.default
    if entry.default_factory is not dataclasses.MISSING:
        default = entry.default_factory()
    return type(value) is type(default) and repr(value) == repr(default)  # 0, 0.0 and -0.0 are three values


def _pack_timing(timing: Timing) -> dict[str, Any]:
    data: dict[str, Any] = _without_defaults(dataclasses.replace(timing, samples_s=(1.0,), round=(0,)))
    del data["samples_s"], data["round"]
    return {**data, **_pack_readings(timing), "runs": _runs_of(timing.round)}


def _pack_readings(timing: Timing) -> dict[str, Any]:
    """The least reading in ticks, and what each is above it: lower words, and higher bytes where needed.

    The floats themselves where readings are no whole ticks, or spread too far.
    """
    samples, grain = timing.samples_s, timing.inner / TICK
    count = len(samples)
    ticks = [round(sample * grain) for sample in samples] if max(samples) * grain < MOST_TICKS else []
    least = min(ticks, default=0)
    above = [tick - least for tick in ticks]
    if not ticks or max(above) >= 1 << 40 or any(map(ne, (tick / grain for tick in ticks), samples)):
        return {"readings": base64.b64encode(struct.pack(f"<{count}d", *samples)).decode()}
    words = struct.pack(f"<{count}I", *(tick & 0xFFFFFFFF for tick in above))
    high = bytes(tick >> 32 for tick in above)
    return {
        "least": least,
        "readings": base64.b64encode(words).decode(),
        **({"high": squeeze(high)} if any(high) else {}),
    }


def _unpack_timing(own: dict[str, Any], known: Definitions) -> Timing:
    """The timing of a PackedTiming. ValueError where readings and rounds do not go together."""
    values = _fields_of_definitions(own.pop("use", ()), known) | own
    data, runs, least = values.pop("readings", b""), values.pop("runs", ()), values.pop("least", None)
    high, count, inner = values.pop("high", b""), 0, values.get("inner", 1)
    for _, size, times in runs:
        count += size * times if size > 0 and times > 0 else len(data) + 1
    # Compare sizes first: a damaged line may claim more rounds than memory holds.
    if count * (8 if least is None else 4) != len(data) or not 0 < inner < MOST_TICKS:
        raise ValueError("its readings are not as many as its rounds")
    values["round"], grain = _rounds_of(runs), inner / TICK
    if least is None:
        return Timing(samples_s=struct.unpack(f"<{count}d", data), **values)
    if not 0 <= least < MOST_TICKS:
        raise ValueError("its least reading is no number of ticks")
    form = "I"
    if high:
        data, form = _widen(data, unsqueeze(high)), "Q"
    above = struct.unpack(f"<{count}{form}", data)
    return Timing(samples_s=tuple([(least + ticks) / grain for ticks in above]), **values)


def _widen(words: bytes, high: bytes) -> bytearray:
    """Words of four bytes as words of eight, with a fifth byte each. ValueError where these are not as many.

    Byte by byte for all words at once: number by number it takes twice the time.
    """
    wide = bytearray(2 * len(words))
    for place in range(4):
        wide[place::8] = words[place::4]
    wide[4::8] = high
    return wide


def _runs_of(rounds: tuple[int, ...]) -> list[tuple[int, int, int]]:
    """(first round, readings of each, how many rounds in a row) until all readings have theirs."""
    runs: list[tuple[int, int, int]] = []
    for number, equal in groupby(rounds):
        size = len(list(equal))
        first, last_size, times = runs[-1] if runs else (0, 0, 0)
        if size == last_size and number == first + times:
            runs[-1] = (first, size, times + 1)
        else:
            runs.append((number, size, 1))
    return runs


@lru_cache(maxsize=4096)
def _rounds_of(runs: Runs) -> tuple[int, ...]:
    return tuple(first + turn for first, size, times in runs for turn in range(times) for _ in range(size))
