"""Report what this Python and this machine have for `make gpu`, and the commands that install the rest.

It imports only the standard library, and loads neither torch nor CUDA's driver. The exit code is 5 if
something is missing without which nothing can be measured.

    python3 docs/machines/gpu_check.py [cpu|cuda] [--packages]

With --packages the machine may have no GPU.
"""

import platform
import re
import runpy
import shlex
import subprocess
import sys
from importlib import metadata, util
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2] / "pyproject.toml"
OPTIONAL = {  # package → (what needs it, what pip installs)
    "jax": ("implementations in jax", "jax[cuda13]"),
    "jaxlib": ("", "jax[cuda13]"),  # installed with jax
    "triton": ("kernels in Triton", "triton"),
    "nvidia-ml-py": ("the GPU's clocks and throttling", "nvidia-ml-py"),
}
JAX_PLUGINS = ("jax-cuda13-plugin", "jax-cuda12-plugin")


def version_of(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def requirements() -> dict[str, str]:
    """Package → its requirement in pyproject.toml, from the dependencies and the extras torch and jax."""
    import tomllib

    project = tomllib.loads(PROJECT.read_text())["project"]
    extras = project["optional-dependencies"]
    lines = [*project["dependencies"], *extras["torch"], *extras["jax"]]
    return {re.split(r"[<>=!~\[; ]", line, maxsplit=1)[0]: line for line in lines}


def is_older(version: str, requirement: str) -> bool:
    """Whether a version is below the requirement's lower bound."""
    bound = re.search(r">=([\d.]+)", requirement)
    return bool(bound) and _numbers(version) < _numbers(bound[1])


def _numbers(version: str) -> tuple[int, ...]:
    release = re.match(r"[\d.]*", version)
    return tuple(int(part) for part in release[0].split(".") if part) if release else ()


def torch_cuda() -> str:
    """The CUDA version that torch was built for, empty for a build without CUDA; does not import torch."""
    spec = util.find_spec("torch")
    if spec is None or spec.origin is None:
        return ""
    return runpy.run_path(str(Path(spec.origin).with_name("version.py"))).get("cuda") or ""


def gpus() -> list[str]:
    """`NVIDIA H100 80GB HBM3, 580.159.04, 81559 MiB` for each GPU; empty if there is no driver."""
    query = ["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"]
    try:
        done = subprocess.run(query, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return done.stdout.strip().splitlines() if done.returncode == 0 else []


def main(device: str, *, gpu: bool) -> int:
    """Print what is available and what is missing; return the exit code."""
    print(f"Python {platform.python_version()}, {sys.executable}")
    if sys.version_info < (3, 11):  # noqa: UP036 - this runs before anything is installed
        print("missing: Python 3.11 or newer; name another, for example PYTHON=python3.12")
        return 5
    needed = requirements()
    missing = [line for name, line in needed.items() if name not in OPTIONAL and not version_of(name)]
    cuda, plugins = torch_cuda(), [f"{name} {version_of(name)}" for name in JAX_PLUGINS if version_of(name)]
    built = f"CUDA {cuda}" if cuda else "a build without CUDA"
    shown = {
        "torch": f"torch {version_of('torch')} ({built})",
        "triton": f"Triton {version_of('triton')}",
        "jax": f"jax {version_of('jax')} ({', '.join(plugins) or 'without a plugin for CUDA'})",
    }
    print(", ".join(text if version_of(name) else f"no {name}" for name, text in shown.items()))
    here = gpus()
    print(f"GPU: {'; '.join(here)}" if here else "GPU: none, or no driver (nvidia-smi lists none)")

    for name, line in needed.items():
        if (version := version_of(name)) and is_older(version, line):
            print(f"note: {name} {version} is older than the tested versions ({line})")
    wanted = {name: gives for name, gives in OPTIONAL.items() if gives[0] and not version_of(name)}
    if device == "cuda" and version_of("jax") and not plugins:
        wanted["jax-cuda13-plugin"] = ("jax on CUDA", "jax[cuda13]")
    for name, (gives, install) in wanted.items():
        print(f"note: without {name} there are no figures of {gives}; install it: {_pip(install)}")

    faults = []
    if missing:
        faults.append(f"missing: {', '.join(missing)}; install: {_pip(*missing)}")
    if device == "cuda" and version_of("torch") and not cuda:
        faults.append(f"missing: torch with CUDA; install: {_pip('--force-reinstall', 'torch')}")
    if gpu and not here:
        faults.append("missing: an NVIDIA GPU with its driver; DEVICE=cpu tries the steps without one")
    print(*faults, sep="\n", end="\n" if faults else "")
    if missing:
        print("without a network: pip download them elsewhere, then pip install --no-index --find-links DIR")
    return 5 if faults else 0


def _pip(*packages: str) -> str:
    return shlex.join([sys.executable, "-m", "pip", "install", *packages])


if __name__ == "__main__":
    named = [word for word in sys.argv[1:] if word != "--packages"] or ["cuda"]
    if named not in (["cpu"], ["cuda"]):
        print(f"unknown device {shlex.join(named)}; use cpu or cuda")
        sys.exit(2)
    sys.exit(main(named[0], gpu=named == ["cuda"] and "--packages" not in sys.argv))
