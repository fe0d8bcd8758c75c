"""Calls that need the tensor's device, replaced by operators that do not."""

import pytest

pytestmark = pytest.mark.torch


def indices():
    import torch

    every, rows = slice(None), torch.tensor([1, 0])
    return [
        *(0, -1, None, ..., slice(1), slice(0, 2)),
        *((every, None), (..., 0), (0, ..., None), (None, ..., slice(0, 4, 2), 1)),
        *(rows, [1, 0], (every, rows), (rows[:, None], rows), (..., rows, slice(1, 4))),
        torch.tensor([True, False]),
    ]


@pytest.mark.parametrize("number", range(16))
def test_indexing_equals_torchs(number):
    import torch

    from harness.worker.frameworks.triton.launches import NoDeviceGuards

    index = indices()[number]
    tensor = torch.arange(120.0).reshape(2, 3, 4, 5)
    read, written, mine = tensor[index], tensor.clone(), tensor.clone()
    written[index] = 7
    with NoDeviceGuards():
        assert torch.equal(tensor[index], read)
        mine[index] = 7
    assert torch.equal(mine, written)


def test_no_call_needs_the_device():
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode

    from harness.worker.frameworks.triton.launches import NoDeviceGuards

    with NoDeviceGuards(), FakeTensorMode():
        tensor = torch.empty(2, 3, device="cuda")
        tensor[:, 0] = 1
        turned = tensor[:, None, 1:].transpose(0, 2)
        assert turned.contiguous().shape == (2, 1, 2)
        assert turned.contiguous().is_contiguous()
        assert tensor.contiguous() is tensor
