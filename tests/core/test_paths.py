"""How files are called where they are shown."""

import pytest

from harness.core.paths import PROJECT, shown_path


@pytest.mark.parametrize(
    ("file", "shown"),
    [
        (f"{PROJECT}/impls/mask/scatter.py", "impls/mask/scatter.py"),
        ("/scratch/gate-1/0-impls/impls/mask/scatter.py", "impls/mask/scatter.py"),  # a base's worktree
        ("/home/somebody/kernels.py", "kernels.py"),
        (f"{PROJECT}/.venv/lib/python3.11/site-packages/jax/nn.py", "nn.py"),
        ("/home/impls/.venv/lib/python3.13/site-packages/torch/nn/functional.py", "functional.py"),
    ],
)
def test_a_path_names_no_folder_of_a_machine_and_a_base_s_file_as_this_checkout_s(file, shown):
    assert shown_path(file) == shown
