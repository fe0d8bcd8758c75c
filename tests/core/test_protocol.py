import fcntl
import resource
import socket

import pytest

from harness.core import protocol


@pytest.fixture
def ends():
    left, right = protocol.pair()
    yield left, right
    left.close()
    right.close()


def test_high_descriptors_are_supported(ends):
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
def test_invalid_json_is_not_a_message(ends, junk):
    left, right = ends
    left.send(junk)
    assert protocol.receive(right) == (None, [])
