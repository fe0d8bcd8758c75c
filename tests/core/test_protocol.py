import fcntl
import os
import resource
import socket

import pytest

from harness.core import protocol
from harness.core.case import Case
from harness.core.protocol import Job


@pytest.fixture
def ends():
    left, right = protocol.pair()
    yield left, right
    left.close()
    right.close()


def test_packets_stay_whole_and_in_order(ends):
    left, right = ends
    for number in range(3):
        protocol.send(left, {"number": number, "text": "ü" * 1000})
    assert [protocol.receive(right)[0]["number"] for _ in range(3)] == [0, 1, 2]


def test_descriptors_travel_with_a_message(ends, tmp_path):
    left, right = ends
    with (tmp_path / "file").open("w") as file:
        protocol.send(left, {"fork": 1}, [file.fileno()])
    message, fds = protocol.receive(right)
    os.write(fds[0], b"written by the other end")
    os.close(fds[0])
    assert message == {"fork": 1}
    assert (tmp_path / "file").read_text() == "written by the other end"


def test_an_end_that_is_gone_says_nothing(ends):
    left, right = ends
    protocol.send(left, {"last": True})
    left.close()
    assert protocol.receive(right) == ({"last": True}, [])
    assert protocol.receive(right) == (None, [])


def test_a_message_is_seen_behind_a_high_descriptor(ends):
    left, right = ends
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 1100:
        pytest.skip("this machine gives no such descriptor")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 1100), hard))
    try:
        with socket.socket(fileno=fcntl.fcntl(right, fcntl.F_DUPFD_CLOEXEC, 1024)) as high:
            assert not protocol.has_message(high, 0)
            protocol.send(left, {"last": True})
            assert protocol.has_message(high, 0)
            assert protocol.receive(high) == ({"last": True}, [])
            left.close()
            assert protocol.has_message(high, 0)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize("junk", [b"junk", b"\xff\xfe", b"[1]", b"3"])
def test_junk_is_no_message(ends, junk):
    left, right = ends
    left.send(junk)
    assert protocol.receive(right) == (None, [])


def test_a_job_survives_the_journey(ends):
    left, right = ends
    job = Job(
        role="case",
        framework="jax",
        module="impls.topk.two_stage",
        case=Case.of("topk/two_stage", {"buckets": 4096}, {"seq": 8, "recall": 0.95, "window": None}),
        group="g",
        folder="f",
        seed=0,
        threads=2,
        memory_bytes=1 << 40,
    )
    protocol.send(left, {"fork": job.to_json()})
    assert Job.from_json(protocol.receive(right)[0]["fork"]) == job
