"""The examples of docs/kernels.md: the plugin is right, and the kernel takes what the page says it takes."""

import json
import re
import shlex
import shutil
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.cli.conftest import call

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs/kernels.md").read_text()
KERNEL, PLUGIN = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
COMMANDS = re.findall(r"^seqsweep .*$", PAGE.replace("\\\n", ""), re.MULTILINE)

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(find_spec("triton") is None, reason="the extra triton is not installed"),
]


def test_the_kernel_takes_what_the_page_says(tmp_path):
    (tmp_path / "flash.py").write_text(KERNEL)
    (command,) = [line for line in COMMANDS if "flash.py::flash" in line]
    done = call(tmp_path, *shlex.split(command)[1:])
    assert done.code == 0, done.err
    answer = done.out.splitlines()[0]
    assert "flash uses 255 registers and spills" in answer
    if version("triton").startswith("3.9."):  # another ptxas, another number
        assert answer in PAGE


def test_the_plugin_launches_a_kernel_of_another_repository_as_it_is(tmp_path):
    """In thirty lines."""
    assert len(PLUGIN.splitlines()) <= 30
    (tmp_path / "their_repository").mkdir()
    shutil.copy(ROOT / "impls/mask/_triton_scatter.py", tmp_path / "their_repository/kernels.py")
    (tmp_path / "mine.py").write_text(PLUGIN)
    command = "check mask/theirs --plugin mine.py --seq 333 --set rows=2 --set topk=50 --json"
    done = call(tmp_path, *command.split())
    assert done.code == 0, done.err
    (record,) = json.loads(done.out)["records"]
    assert record["correctness"]["passed"]
