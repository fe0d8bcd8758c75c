"""The device lock: its holder, and its release at the holder's death."""

import json
import os
import pwd
import subprocess
import sys
from pathlib import Path

import pytest

from harness.core import file_lock
from harness.core.errors import MachineError
from harness.run.machine import lock
from harness.run.machine.lock import device_lock

HOLD = """
import sys
from pathlib import Path
from harness.run.machine.lock import device_lock
with device_lock("cpu", "seqsweep run mask", Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""
ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def where(tmp_path):
    return tmp_path / "cpu.lock"


def held_by(device, where):
    """How a refusal names the holder; None where the device is free."""
    try:
        with device_lock(device, "second", where):
            return None
    except MachineError as refusal:
        return str(refusal).removeprefix(f"device {device} is in use by ").partition("; wait for it")[0]


def holder(where):
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(where)], cwd=ROOT, **pipes)
    assert process.stdout
    assert process.stdout.readline() == "held\n"
    return process


def test_device_error_names_the_holder_and_lock_ends_with_it(where, monkeypatch):
    monkeypatch.setattr(lock, "POLL_SECONDS", 0.01)
    told = []

    def interrupt(_):
        raise KeyboardInterrupt

    def tell(sentence):
        told.append(sentence)
        other.kill()

    with holder(where) as other:
        signed = where.read_text()
        monkeypatch.setattr(file_lock.time, "time", lambda: json.loads(signed)["since"] + 90.0)
        says = f'process {other.pid} ("seqsweep run mask") for 90 s'
        assert held_by("cpu", where) == says
        with pytest.raises(MachineError) as refused, device_lock("cpu", "second", where):
            pass
        assert str(refused.value) == (
            f"device cpu is in use by {says}; wait for it (run and gate: --wait) or end it, "
            "because two benchmarks at once disturb each other"
        )
        assert refused.value.exit_code == 5
        with pytest.raises(KeyboardInterrupt), device_lock("cpu", "second", where, wait=interrupt):
            pass
        assert where.read_text() == signed
        with device_lock("cpu", "seqsweep run topk --wait", where, wait=tell):
            assert json.loads(where.read_text())["command"] == "seqsweep run topk --wait"
    assert told == [f"waiting for device cpu, in use by {says}"]
    assert held_by("cpu", where) is None


@pytest.mark.parametrize("content", ["", "not json", "[]", "{}", '{"pid": 1, "command": "x", "since": "y"}'])
def test_unsigned_lock_has_an_unknown_holder(where, content):
    with device_lock("cpu", "seqsweep run", where):
        where.write_text(content)
        assert held_by("cpu", where) == "another process (unknown command)"


def test_lock_file_is_private(where):
    where.touch(0o666)
    with device_lock("cpu", "seqsweep run", where):
        assert where.stat().st_mode & 0o777 == 0o600


def test_lock_file_of_another_user_is_refused(where, monkeypatch):
    where.touch()
    monkeypatch.setattr(os, "geteuid", lambda: where.stat().st_uid + 1)
    with pytest.raises(MachineError, match="belongs to another user"), device_lock("cpu", "run", where):
        pass


def test_path_that_is_not_a_file_is_an_error(tmp_path):
    """In a separate process, because opening a FIFO may block forever."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "fifo")
    code = (
        "import sys; from pathlib import Path; from harness.core.errors import MachineError\n"
        "from harness.run.machine.lock import device_lock\n"
        "for where in Path(sys.argv[1]).iterdir():\n"
        "    try: device_lock('cpu', 'run', where).__enter__()\n"
        "    except MachineError as error: print(error)"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.stderr == ""
    assert done.stdout.count("cannot be locked") == done.stdout.count("TMPDIR") == 3


def test_a_lock_of_another_user_counts(where, tmp_path, monkeypatch):
    monkeypatch.setattr(lock, "POLL_SECONDS", 0.01)
    theirs = tmp_path / "seqsweep-cpu-12345.lock"
    with holder(theirs) as other:
        user = pwd.getpwuid(os.getuid()).pw_name
        assert str(held_by("cpu", where)).startswith(f"process {other.pid} of user {user} for")
        heard = []

        def tell(sentence):
            heard.append(sentence)
            other.kill()

        with device_lock("cpu", "run", where, wait=tell):
            assert len(heard) == 1
    assert held_by("cpu", where) is None
    with device_lock("cuda", "run", where), device_lock("cpu", "run", tmp_path / "other"):
        pass


def test_devices_and_users_have_separate_locks(monkeypatch):
    own = lock.lock_path("cpu")
    assert own != lock.lock_path("cuda")
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    assert lock.lock_path("cpu").name == "seqsweep-cpu-12345.lock" != own.name
