"""A machine's fingerprint: the facts that must be equal before two timings are compared.

`caches` are facts, but not part of the hash that identifies a machine in records, histories and ceilings. If
they were, old runs without caches would not match new runs on the same machine. Instead caches are compared
one by one: fingerprints with the same hash are of different machines if both have the size of a cache and
the sizes differ. This is for virtual machines, some of which name only the maker of the processor.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from harness.core.plain_data import differences
from harness.core.units import format_bytes

CACHES = "caches"


def hashed_facts(facts: Mapping[str, Any]) -> dict[str, Any]:
    """The facts that a fingerprint's hash covers."""
    return {name: value for name, value in facts.items() if name != CACHES}


def accelerator_name(facts: Mapping[str, Any]) -> str | None:
    """The name of a fingerprint's GPU or TPU; None without one."""
    return (facts.get("gpu") or facts.get("tpu") or {}).get("name")


def device_name(facts: Mapping[str, Any]) -> str | None:
    """The name of a fingerprint's accelerator, else of its processor; None if unknown."""
    return accelerator_name(facts) or facts.get("cpu")


def cache_texts(facts: Mapping[str, Any]) -> dict[str, str]:
    """The caches with a known size, as text: `L2` → `1 MiB`, `L3` → `32 MiB shared by 8`."""
    caches = (facts.get(CACHES) or {}).items()
    return {name: _text(cache) for name, cache in caches if isinstance(cache, Mapping) and "bytes" in cache}


def _text(cache: Mapping[str, Any]) -> str:
    size, unit = format_bytes(cache["bytes"]).split()
    shared = f" shared by {cache['cpus']}" if cache.get("cpus", 1) > 1 else ""
    return f"{float(size):g} {unit}{shared}"  # caches have round sizes, so without trailing zeros


def fingerprint_differences(
    before: Mapping[str, Any], now: Mapping[str, Any]
) -> Iterator[tuple[str, Any, Any]]:
    """Like :func:`differences`, then the caches with two known and different sizes, as text."""
    yield from differences(hashed_facts(before), hashed_facts(now))
    known = cache_texts(now)
    for name, text in cache_texts(before).items():
        if text != known.get(name, text):
            yield name, text, known[name]
