"""What is done on devices that this machine may not have, against stand-ins for their documented calls."""

from types import SimpleNamespace

import pytest

from harness.worker.frameworks import base as frameworks


@pytest.mark.jax
class TestJaxDevices:
    @pytest.fixture
    def framework(self):
        pytest.importorskip("jax")
        made = type(frameworks.get("jax"))()
        made.device = SimpleNamespace(platform="gpu", memory_stats=lambda: self.stats)
        return made

    @pytest.mark.parametrize(
        ("before", "after", "rise"),
        [
            ((300, 400), (350, 1000), 700),
            ((300, 5000), (300, 5000), None),  # an earlier peak that was higher hides it
            (None, None, None),
        ],
    )
    def test_memory_is_the_allocators_peak_above_what_was_in_use(self, framework, before, after, rise):
        def memory_stats(stats):
            return stats and dict(zip(("bytes_in_use", "peak_bytes_in_use"), stats, strict=True))

        self.stats = memory_stats(before)
        read = framework.rise()
        self.stats = memory_stats(after)
        assert read() == rise
