"""The wheel and the files around it: complete, agreeing with each other, and the same from any folder."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from harness.catalog import face
from harness.core.version import VERSION

ROOT = Path(__file__).resolve().parents[1]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
ASK = """
import json, sys
from harness.sweep.project import Project
project = Project()
places = {"bench": project.config.path, "home": project.config.home, "results": project.results}
places = {name: str(path) for name, path in places.items()}
json.dump({**places, "catalog": project.catalog.to_json()}, sys.stdout)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    hatchling = pytest.importorskip(
        "hatchling.builders.wheel", reason="pip install hatchling to look into wheels"
    )
    folder = tmp_path_factory.mktemp("wheel")
    built = next(hatchling.WheelBuilder(str(ROOT)).build(directory=str(folder), versions=["standard"]))
    return zipfile.ZipFile(built)


@pytest.fixture(scope="module")
def site(wheel: zipfile.ZipFile, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    wheel.extractall(folder)
    return folder


def start(arguments: list[str], folder: Path, *path: str | Path) -> subprocess.CompletedProcess[str]:
    """Python started in `folder`, with these places on its import path."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, path))},
        capture_output=True,
        text=True,
        check=False,
    )


def ask(arguments: list[str], site: Path, folder: Path) -> Any:
    """The JSON that Python prints when started in `folder` with the package lying in `site`."""
    done = start(arguments, folder, site)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_wheel_holds_every_file_of_both_packages(wheel: zipfile.ZipFile) -> None:
    sources = [path for name in ("harness", "impls") for path in (ROOT / name).rglob("*") if path.is_file()]
    files = {str(path.relative_to(ROOT)) for path in sources if "__pycache__" not in path.parts}
    packed = {name for name in wheel.namelist() if ".dist-info/" not in name}
    on_top = {name.removeprefix("harness/entry/") for name in files}
    assert packed == on_top | {"harness/bench.yaml"}


def test_the_wheel_names_its_command_licence_and_authors(wheel: zipfile.ZipFile) -> None:
    info = f"seqsweep-{PROJECT['version']}.dist-info"
    assert "seqsweep = seqsweep:main" in wheel.read(f"{info}/entry_points.txt").decode()
    assert b"Apache License" in wheel.read(f"{info}/licenses/LICENSE")
    told = Parser().parsestr(wheel.read(f"{info}/METADATA").decode(), headersonly=True)
    assert (told["Author"], told["License-Expression"]) == ("seqsweep contributors", "Apache-2.0")
    assert told["Description-Content-Type"] == "text/markdown"
    newest = max(re.findall(r"Python :: 3\.(\d+)", str(told.get_all("Classifier"))), key=int)
    assert Requirement(f"python{told['Requires-Python']}").specifier.contains(f"3.{newest}")
    assert told.get_all("Project-URL") is None, "no project page is known to exist"


def test_an_editable_install_is_two_folders_and_no_copy_of_code(tmp_path: Path) -> None:
    hatchling = pytest.importorskip("hatchling.builders.wheel", reason="pip install hatchling")
    built = next(hatchling.WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["editable"]))
    with zipfile.ZipFile(built) as editable:
        assert [name for name in editable.namelist() if name.endswith(".py")] == []
        assert editable.read("_seqsweep.pth").decode().split() == [str(ROOT), str(ROOT / "harness/entry")]


def test_a_cli_of_the_users_own_is_in_nobodys_way(site: Path, tmp_path: Path) -> None:
    (tmp_path / "cli.py").write_text("raise SystemExit('not this one')\n")
    for words in (["-m", "seqsweep"], ["-c", "from seqsweep import main; main()"]):
        done = start([*words, "--version"], tmp_path, ".", site)
        assert (done.returncode, done.stdout, done.stderr) == (0, f"seqsweep {VERSION}\n", "")


@pytest.mark.parametrize("file", ["harness/__init__.py", "harness.py", "impls/__init__.py", "impls.py"])
def test_a_foreign_package_is_a_sentence(file: str, site: Path, tmp_path: Path) -> None:
    code = tmp_path / file
    code.parent.mkdir(exist_ok=True)
    code.write_text("raise SystemExit('it ran')\n")
    foreign = code.parent if code.name == "__init__.py" else code
    done = start(["-m", "seqsweep", "list"], tmp_path, ".", site)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f'seqsweep: "{foreign.stem}" would be imported from {foreign}, not from ')
    assert f"remove {tmp_path} from the import path" in done.stderr
    assert done.stderr.count("\n") == 1


def test_what_plugins_and_tests_of_others_import_comes_by_one_name(site: Path, tmp_path: Path) -> None:
    names = ", ".join(face.__all__)
    plugin = f"from seqsweep import {names}\nimport harness\nassert implementation is harness.implementation"
    test = "from seqsweep import testing\nfrom seqsweep.testing import check, measure\n"
    test += "import sys\nassert not {'numpy', 'pandas', 'torch', 'jax', 'pytest'} & set(sys.modules)"
    for code in (plugin, test):
        assert start(["-c", code], tmp_path, site).stderr == ""
    missing = start(["-c", "from seqsweep import implementations"], tmp_path, site).stderr
    assert "ImportError: cannot import name 'implementations' from 'seqsweep'" in missing
    (tmp_path / "harness").mkdir()
    (tmp_path / "harness/__init__.py").touch()
    for code in (plugin, test):
        said = start(["-c", code], tmp_path, ".", site).stderr
        assert 'ImportError: "harness" would be imported from' in said


def test_a_wheel_elsewhere_behaves_like_the_checkout(site: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    there, here = ask(["-c", ASK], site, empty), ask(["-c", ASK], ROOT, empty)
    assert there["bench"] == str(site / "harness/bench.yaml")
    assert here["bench"] == str(ROOT / "bench.yaml")
    assert there["home"] == here["home"] == str(empty)
    assert there["results"] == str(empty / "results")
    assert json.loads(json.dumps(there["catalog"]).replace(str(site), str(ROOT))) == here["catalog"]
    listed = ask(["-m", "seqsweep", "list", "--json"], site, empty)
    assert listed.pop("targets"), "the accelerators' files are in the wheel"
    assert listed == there["catalog"]
    assert len(ask(["-m", "seqsweep", "list", "models", "--json"], site, empty)["models"]) == 17
    assert not list(empty.iterdir())


def test_the_version_is_the_same_everywhere() -> None:
    assert PROJECT["version"] == VERSION
    assert PROJECT["version"] in (ROOT / "CHANGELOG.md").read_text()


def test_constraints_pin_every_direct_dependency_within_its_range() -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = [Requirement(line) for line in lines if not line.startswith("#")]
    assert all(re.fullmatch(r"==[0-9.]+", str(pin.specifier)) and not pin.url for pin in pins)
    versions = {canonicalize_name(pin.name): str(pin.specifier)[2:] for pin in pins}
    extras = PROJECT["optional-dependencies"]
    for line in (*PROJECT["dependencies"], *extras["torch"], *extras["jax"], *extras["dev"]):
        wanted = Requirement(line)
        assert wanted.specifier.contains(versions[canonicalize_name(wanted.name)]), line


# What torch 2.13's build on PyPI requires in versions of its own: its METADATA, with cuda-toolkit's extras.
TORCHS_OWN = {
    *("triton", "cuda-bindings", "cuda-toolkit", "nvidia-cublas", "nvidia-cuda-cccl", "nvidia-cuda-cupti"),
    *("nvidia-cuda-nvrtc", "nvidia-cuda-runtime", "nvidia-cudnn-cu13", "nvidia-cufft", "nvidia-cufile"),
    *("nvidia-curand", "nvidia-cusolver", "nvidia-cusparse", "nvidia-cusparselt-cu13", "nvidia-nccl-cu13"),
    *("nvidia-nvshmem-cu13", "nvidia-nvtx"),
}


def test_constraints_leave_to_torch_what_its_build_on_pypi_pins() -> None:
    """Otherwise pip finds no solution where torch is not CI's build for CPUs, which has none of them."""
    named = {
        path: {Requirement(line).name for line in (ROOT / path).read_text().splitlines() if line[0] != "#"}
        for path in ("constraints.txt", ".ci/constraints.txt")
    }
    assert not named["constraints.txt"] & TORCHS_OWN
    assert named[".ci/constraints.txt"] <= TORCHS_OWN


def test_hooks_are_the_lines_of_make_lint() -> None:
    recipe = re.search(r"^lint:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert recipe
    lines = [line.strip().replace("$(BIN)", ".venv/bin") for line in recipe[1].splitlines()]
    (repo,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert repo["repo"] == "local"
    assert [hook["entry"] for hook in repo["hooks"]] == lines
