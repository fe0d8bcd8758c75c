"""Operators over fake tensors the short way, held to FakeTensorMode's own answers, each twice."""

import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


def described(result):
    return result.shape, result.stride(), result.dtype, result.device


@pytest.mark.parametrize(
    ("operator", "arguments", "options"),
    [
        ("arange.start_step", lambda _: (0, 9, 2), {"device": "cpu"}),
        ("arange.start", lambda _: (0.0, 9.0), {"device": "cuda:0"}),
        ("new_zeros", lambda a: (a, [3, 2]), {}),
        ("new_zeros", lambda a: (a, [3, 2]), {"device": "cuda:0", "dtype": "f64"}),
        ("new_full", lambda a: (a, [7], 1), {}),
        ("where.self", lambda a: (a > 0, a, a[:1]), {}),
        ("addcmul_", lambda a: (a, a, a), {}),
        ("copy_", lambda a: (a, a[:1]), {}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_short_way_is_the_modes(operator, arguments, options):
    from torch._subclasses.fake_tensor import FakeTensorMode

    from harness.worker.frameworks.torch.fake_ops import Fakes

    packet, _, overload = operator.partition(".")
    call = getattr(getattr(torch.ops.aten, packet), overload or "default")
    typed = {"device": torch.device, "dtype": lambda _: torch.float64}
    options = {name: typed[name](value) for name, value in options.items()}
    with FakeTensorMode() as mode:
        fakes = Fakes(mode)
        a = torch.empty(4, 5, dtype=torch.bfloat16)
        wanted = described(call(*arguments(a), **options))
        assert [described(fakes.call(call, arguments(a), options)) for _ in range(2)] == [wanted, wanted]


def test_a_write_hands_back_what_it_wrote_into_and_resizes_it_each_time():
    from torch._subclasses.fake_tensor import FakeTensorMode

    from harness.worker.frameworks.torch.fake_ops import Fakes

    with FakeTensorMode() as mode:
        fakes, where = Fakes(mode), torch.ops.aten.where.self_out
        a = torch.empty(4, 5)
        for _ in range(2):
            into = torch.empty(0)
            assert fakes.call(where, (a > 0, a, a), {"out": into}) is into
            assert into.shape == (4, 5)
            assert fakes.call(where, (a > 0, a, a), {"out": into}) is into
