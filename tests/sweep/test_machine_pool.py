"""`machines:` of bench.yaml: which nodes of which cluster, and errors with their line."""

import pytest

from harness.core.errors import UsageError
from harness.sweep.machine_pool import ACCELERATOR, MachinePool


def test_a_pool_is_a_cluster_and_labels(bench):
    config = bench("""\
machines:
  pool: {}
  h200: {address: "10.0.0.1:6379", accelerator: H200, labels: {rack: b}, exclusive: false}
""")
    assert config.machines == {
        "pool": MachinePool("pool"),
        "h200": MachinePool("h200", "10.0.0.1:6379", {"rack": "b", ACCELERATOR: "H200"}, False),
    }
    assert (MachinePool("pool").address, MachinePool("pool").exclusive) == ("auto", True)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{adress: auto}", 'bench.yaml:2: unknown key "adress" of machines pool; nearest: "address"'),
        ("{exclusive: maybe}", 'bench.yaml:2: exclusive "maybe": write true or false'),
        ("{noise: 5%}", "bench.yaml:2: noise was removed: "),
        ("{labels: quiet}", "bench.yaml:2: labels must be a mapping"),
        ("auto", "bench.yaml:2: machines pool must be a mapping"),
        ("{address: [a, b]}", "bench.yaml:2: address needs one value"),
    ],
)
def test_what_describes_no_pool_is_refused_with_its_line(bench, text, says):
    with pytest.raises(UsageError) as caught:
        bench(f"machines:\n  pool: {text}\n")
    assert str(caught.value).startswith(says)
