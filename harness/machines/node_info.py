"""A node's description, and whether it may measure for a driver: both need the same code and frameworks."""

import hashlib
import os
import platform
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from harness.catalog import discovery
from harness.catalog.catalog import Catalog
from harness.catalog.known_frameworks import known, packages_of
from harness.collection.piece import kind_of_machine
from harness.core.difference import differences
from harness.core.machine import usable_cores
from harness.core.paths import PACKAGE
from harness.core.version import VERSION, version_of
from harness.run.machine.probes import probe_fingerprint
from harness.store import json_file

SOURCE = "source of "  # before an implementation, as the name of its hash
SHOWN = 3  # differences in a refusal


@dataclass(frozen=True)
class NodeInfo:
    """A node as it is: `facts` are its fingerprint with its GPU, `niceness` says how it yields to others."""

    code: Mapping[str, str | None]  # as installed_code() there
    facts: Mapping[str, Any]
    niceness: int

    @property
    def digest(self) -> str:
        """Equal for machines whose shards may be joined: the beginning of a hash."""
        return json_file.digest(kind_of_machine(self.facts)).removeprefix("sha256:")[:7]

    @property
    def description(self) -> str:
        """`AMD EPYC, 2 cores, NVIDIA H100, fingerprint 1a2b3c4`."""
        facts = self.facts
        what = filter(None, [facts["cpu"], f"{facts['cores']} cores", facts["gpu"].get("name")])
        return f"{', '.join(what)}, fingerprint {self.digest}"

    def refusal(self, ours: Mapping[str, str | None], implementations: Collection[str]) -> str | None:
        """Why it may not measure these for a driver with our code; None where it may."""
        if self.niceness > 0:
            return f"its processes have niceness {self.niceness}; start Ray there with RAY_worker_niceness=0"
        wanted = {f"{SOURCE}{name}" for name in implementations}
        found = [
            f"{name} differs" if name in wanted else f"{name} is {here} here and {there} there"
            for name, here, there in differences(ours, self.code)
            if name in wanted or not name.startswith(SOURCE)
        ]
        more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
        return f"{', '.join(found[:SHOWN])}{more}; install the same there" if found else None


def installed_code(catalog: Catalog) -> dict[str, str | None]:
    """The code that driver and node must share: versions, and the hashes of all that is registered here."""
    return {
        "seqsweep": f"{VERSION} ({_own_hash()})",
        "python": platform.python_version(),
        **{package.name: version_of(package.name) for package in packages_of(known()) if not package.gives},
        **{f"{SOURCE}{name}": info.hash for name, info in catalog.implementations.items()},
    }


def read_node_info(plugins: Sequence[str]) -> NodeInfo:
    """This machine, with everything registered here and in these plugins. UsageError where one is missing."""
    found = probe_fingerprint("cpu", usable_cores())
    return NodeInfo(
        installed_code(discovery.catalog(tuple(plugins))),
        facts={**found["fingerprint"], "gpu": found["gpu"]},
        niceness=os.nice(0),
    )


@cache
def _own_hash() -> str:
    """The beginning of a hash of this program: two checkouts of one version may differ."""
    whole = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*.py")):
        whole.update(f"{path.relative_to(PACKAGE)}\0".encode() + path.read_bytes() + b"\0")
    return whole.hexdigest()[:7]
