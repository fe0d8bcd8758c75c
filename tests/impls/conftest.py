"""Small configurations of mla, on one thread: for small matrices threads cost more than they save."""

import pytest

from impls.mla.family import CONFIGS
from tests.impls.mla_trial import NARROW, UNEVEN


@pytest.fixture
def one_thread():
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def narrow(monkeypatch, one_thread):
    """Both configurations with few, small heads, so that every combination is quick."""
    for name, config in NARROW.items():
        monkeypatch.setitem(CONFIGS, name, config)


@pytest.fixture
def uneven(monkeypatch, one_thread):
    for name, config in UNEVEN.items():
        monkeypatch.setitem(CONFIGS, name, config)
