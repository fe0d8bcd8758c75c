"""The key of the compile cache: everything that a compile result depends on."""

import os
import platform
from functools import cache
from hashlib import sha256
from importlib.metadata import distributions
from typing import Any

from harness.catalog.accelerators import HOST, target
from harness.catalog.catalog import Catalog
from harness.catalog.known_frameworks import traits_of
from harness.core.machine import processor
from harness.core.paths import PACKAGE
from harness.run.compile.request import CompileRequest
from harness.run.processes.fork_client import ENVIRONMENT
from harness.sweep.settings import Settings

# Variables that change what is compiled begin with these.
FLAGS = ("CUDA_", "JAX_", "LIBTPU_", "NVIDIA_", "TORCH_", "TPU_", "TRITON_", "XLA_")
LAYERS = ("core", "catalog", "cubin", "xla", "worker")  # of the harness, whose code produces the figures


def key(request: CompileRequest, catalog: Catalog, settings: Settings) -> dict[str, Any]:
    """The key as plain data: code, case, target, packages, flags; for the host its processor too.

    Kernels that XLA does not compile are keyed by compute capability: their machine code depends on no more.
    """
    info = catalog.implementation(request.case.implementation)
    target_ = target(request.target)
    if target_.capability and not traits_of(info.framework).by_xla:
        target_ = target(f"cuda:sm_{target_.capability.replace('.', '')}")
    host = {"processor": _processor(), "threads": settings.threads} if target_.kind == HOST else {}
    return {
        "case": request.case.id,
        "target": target_.name,
        "device": str(target_.accelerator),
        "source": info.hash,
        **request.extras,
        **surroundings(),
        **host,
    }


def surroundings() -> dict[str, str]:
    """The part of the key that is the same for everything that this process compiles."""
    return {"reader": _reader(), "packages": _packages(), "flags": _flags()}


@cache
def _reader() -> str:
    files = sorted(path for layer in LAYERS for path in (PACKAGE / layer).rglob("*.py"))
    return _hash("\0".join(path.read_text(encoding="utf-8") for path in files))


@cache
def _packages() -> str:
    """A hash of every installed distribution's version, because a compiler consists of many."""
    versions = {(package.name or "", package.version or "") for package in distributions()}
    return _hash(f"{platform.python_version()} {sorted(versions)}")


@cache
def _flags() -> str:
    variables = {name: value for name, value in os.environ.items() if name.startswith(FLAGS)}
    return _hash(str(sorted({**variables, **ENVIRONMENT}.items())))


@cache
def _processor() -> str:
    return _hash(f"{platform.machine()} {processor()}")


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()
