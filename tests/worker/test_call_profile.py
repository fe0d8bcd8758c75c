"""Short names of kernels, which differ for different kernels."""

import pytest

from harness.worker.call_profile import shorten

FILL = "at::native::FillFunctor<int>, std::array<char*, 1ul>"


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("_attn_fwd", "_attn_fwd"),
        ("Memcpy DtoD (Device -> Device)", "Memcpy DtoD"),
        ("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64", None),
        (
            f"void at::native::vectorized_elementwise_kernel<4, {FILL} >(int, {FILL})",
            "vectorized_elementwise_kernel<4, FillFunctor<int>, array<char*, 1ul>>",
        ),
        (
            "void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, float>(float*, int)",
            "cunn_SoftMaxForward<8, float>",
        ),
        ("void f<(Kind)2>(int)", "f<(Kind)2>"),
    ],
)
def test_kernel_names_omit_namespaces_results_and_parameters(name, short):
    assert shorten(name) == (short or name)
