"""A machine's fingerprint: the facts that must be equal before two timings are compared.

`caches` are facts, but not part of the hash by which records, histories and ceilings name a machine. Runs
were stored before caches were read: with caches in the hash, no old run would match a new one on its machine.
Instead caches are compared one by one: fingerprints of one hash are of different machines where both give the
size of a cache and the sizes differ. Virtual machines need that: some name a processor by its maker alone.
A size that only one of the two gives decides nothing.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from harness.core.plain_data import differences
from harness.core.units import format_bytes

CACHES = "caches"


def hashed_facts(facts: Mapping[str, Any]) -> dict[str, Any]:
    """The facts that a fingerprint's hash is over."""
    return {name: value for name, value in facts.items() if name != CACHES}


def accelerator_name(facts: Mapping[str, Any]) -> str | None:
    """The GPU or TPU that a fingerprint names; None where it is of a processor alone."""
    return (facts.get("gpu") or facts.get("tpu") or {}).get("name")


def device_name(facts: Mapping[str, Any]) -> str | None:
    """The accelerator of a fingerprint, else its processor; None where neither is known."""
    return accelerator_name(facts) or facts.get("cpu")


def cache_texts(facts: Mapping[str, Any]) -> dict[str, str]:
    """`L2` → `1 MiB`, `L3` → `32 MiB shared by 8`: the caches whose size a fingerprint gives."""
    caches = (facts.get(CACHES) or {}).items()
    return {name: _text(cache) for name, cache in caches if isinstance(cache, Mapping) and "bytes" in cache}


def _text(cache: Mapping[str, Any]) -> str:
    size, unit = format_bytes(cache["bytes"]).split()
    shared = f" shared by {cache['cpus']}" if cache.get("cpus", 1) > 1 else ""
    return f"{float(size):g} {unit}{shared}"  # a round size, as every cache has it, without its zeros


def fingerprint_differences(
    before: Mapping[str, Any], now: Mapping[str, Any]
) -> Iterator[tuple[str, Any, Any]]:
    """As :func:`differences`, then the caches whose size both give and differ in, as text."""
    yield from differences(hashed_facts(before), hashed_facts(now))
    known = cache_texts(now)
    for name, text in cache_texts(before).items():
        if text != known.get(name, text):
            yield name, text, known[name]
