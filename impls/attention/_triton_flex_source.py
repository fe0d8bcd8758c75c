"""Get the Triton source that torch's inductor generates for FlexAttention, without the GPU it is for.

torch.compile cannot be used: Dynamo stops at the first operator on a device that this torch was not built
for. Instead, the operator that Dynamo would find is traced by hand, and inductor lowers it. Meanwhile this
module answers inductor's queries about the device.
"""

import linecache
import re
import sys
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple
from unittest.mock import patch

import torch

from harness import Unsupported, stage

from .workload import AttentionWorkload

KNOWN = ("2.11", "2.13", "2.14")  # torch versions tested with this
BLOCK = 128  # queries and keys of a block of the mask
DECORATOR = re.compile(r"@triton_heuristics\.template\(.*?\n\)\n(?=@triton\.jit)", re.DOTALL)


class Written(BaseException):
    """Inductor has written the kernel; its next step needs the device."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.source = source


class Mask(NamedTuple):
    """A FlexAttention mask: a function of two positions, and lists of blocks."""

    visible: Callable[..., Any]  # of (batch, head, query, key, *arrays)
    lists: tuple[int, int] = (1, 1)  # batches and heads that have their own lists
    arrays: tuple[tuple[int, ...], ...] = ()  # shapes of the booleans that it reads


def flex_kernel(w: AttentionWorkload, mask: Mask, instead: str) -> Callable[..., torch.Tensor]:
    """`attend(q, k, v, lists, *arrays)` by inductor's kernel for the GPU that Triton compiles for.

    `lists` are as in BlockMask: for each row of blocks, how many have a hidden pair and which, and how many
    have none and which. Unsupported if a gradient is requested; `instead` is an implementation with a
    gradient.
    """
    try:
        kernel, options, rows = _kernel_of(_source(w, mask, _capability()))
    except Exception as error:
        if ".".join(torch.__version__.split(".")[:2]) in KNOWN:
            raise
        raise Unsupported(
            f"FlexAttention's kernel is known for torch {' and '.join(KNOWN)}, not {torch.__version__}; "
            f"install one of them, or use {instead}"
        ) from error

    def attend(q: torch.Tensor, k: Any, v: Any, lists: Any, *arrays: Any) -> torch.Tensor:
        if torch.is_grad_enabled() and q.requires_grad:
            raise Unsupported(f"its backward is another kernel of inductor's; use mode fwd or {instead}")
        sums, most = torch.empty((2, w.batch, w.heads, w.seq), dtype=torch.float32, device=q.device).unbind(0)
        out = torch.empty((w.batch, w.seq, w.heads, w.head_dim), dtype=q.dtype, device=q.device)
        grid = (-(-w.seq // rows), w.batch, w.heads)
        with stage("attend"):
            kernel[grid](q, k, v, sums, most, *lists, *arrays, out, **options)
        return out

    return attend


def _kernel_of(source: str) -> tuple[Any, dict[str, int], int]:
    """(the kernel, options of its launch, queries per block)."""
    (name,) = re.findall(r"def (triton_tem\w+)", source)
    options = {word: _number(source, word) for word in ("num_stages", "num_warps")}
    text, file = DECORATOR.sub("", source), "flex_attention.py"
    # Triton gets a function's source from inspect; linecache entries without a time are never dropped.
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    module = ModuleType("flex_attention")
    exec(compile(text, file, "exec"), vars(module))  # noqa: S102 - it is torch's own
    return getattr(module, name), options, _number(source, "BLOCK_M")


def _number(source: str, word: str) -> int:
    """A value in the kernel's decorator."""
    return int(re.findall(rf"\b{word}'?[=:] ?(\d+)", source)[0])


def _capability() -> tuple[int, int]:
    """Triton's active device; if there is none, one that inductor accepts."""
    from triton.backends.compiler import GPUTarget
    from triton.runtime import driver

    try:
        target = driver.active.get_current_target()
    except RuntimeError:  # in the interpreter, which accepts code written for any device
        target = GPUTarget("cuda", 90, 32)
        driver.set_active(SimpleNamespace(get_current_target=lambda: target))
    return divmod(int(target.arch), 10)


def _source(w: AttentionWorkload, mask: Mask, capability: tuple[int, int]) -> str:
    from torch._higher_order_ops.flex_attention import flex_attention
    from torch._inductor import config
    from torch._inductor.compile_fx import compile_fx_inner
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.proxy_tensor import make_fx
    from torch.nn.attention.flex_attention import BlockMask

    blocks = -(-w.seq // BLOCK)
    options = {"PRESCALE_QK": False, "ROWS_GUARANTEED_SAFE": False, "BLOCKS_ARE_CONTIGUOUS": False}
    # By default inductor uses its decode kernel for fewer than 128 queries.
    outputs = {"BACKEND": "TRITON", "WRITE_DQ": True, "OUTPUT_LOGSUMEXP": False, "OUTPUT_MAX": False}

    def attend(q: Any, k: Any, v: Any, *rest: Any) -> Any:
        lists, arrays = rest[:4], rest[4:]

        def score(score: Any, _batch: Any, _head: Any, _query: Any, _key: Any) -> Any:
            return score

        # The number of the operator's values differs by torch's version: 13 in 2.11, 17 from 2.13 on.
        blocks_and_mask = {"BLOCK_SIZE": (BLOCK, BLOCK), "mask_mod": mask.visible}
        block_mask = BlockMask((w.seq, w.seq), *lists, *lists, **blocks_and_mask).as_tuple()
        kernel_options = {**options, **outputs}
        return flex_attention(q, k, v, score, block_mask, w.head_dim**-0.5, kernel_options, (), arrays)[:1]

    with FakeTensorMode(allow_non_fake_inputs=True), torch.no_grad(), _absent_gpu(capability):
        dtype = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}[w.dtype]
        q, k, v = (
            torch.empty(w.batch, w.seq, heads, w.head_dim, dtype=dtype, device="cuda").transpose(1, 2)
            for heads in (w.heads, w.kv_heads, w.kv_heads)
        )
        lists = [
            torch.empty(*mask.lists, *sizes, dtype=torch.int32, device="cuda")
            for sizes in ((blocks,), (blocks, blocks)) * 2
        ]
        arrays = [torch.empty(shape, dtype=torch.bool, device="cuda") for shape in mask.arrays]
        inputs = [q, k, v, *lists, *arrays]
        graph = make_fx(attend, tracing_mode="fake")(*inputs)
        try:
            with config.patch(compile_threads=1, force_disable_caches=True):
                compile_fx_inner(graph, inputs)
        except Written as written:
            return written.source
    raise RuntimeError("inductor wrote no kernel for FlexAttention")


@contextmanager
def _absent_gpu(capability: tuple[int, int]) -> Generator[None]:
    """Answer inductor's queries about the device, and stop it at the first kernel that it would compile."""
    from torch._dynamo.device_interface import CudaInterface
    from torch._inductor import scheduler
    from torch._inductor.async_compile import AsyncCompile

    # The package has a function with the module's name.
    operator = sys.modules["torch._higher_order_ops.flex_attention"]
    device = SimpleNamespace(
        major=capability[0],
        minor=capability[1],
        multi_processor_count=1,
        regs_per_multiprocessor=65_536,
        max_threads_per_multi_processor=2048,
        max_threads_per_block=1024,
        warp_size=32,
        name="",
        gcnArchName="",
    )

    def permuted(result: torch.Tensor, strides: Any) -> torch.Tensor:
        order = sorted(range(result.dim()), key=strides.__getitem__)
        sizes, laid_out = 1, [0] * result.dim()
        for axis in order:
            laid_out[axis], sizes = sizes, sizes * result.shape[axis]
        return result.new_empty_strided(result.shape, laid_out)

    def written(_self: Any, _name: str, source: str, *_: Any, **__: Any) -> None:
        raise Written(source)

    properties = staticmethod(lambda *_: device)
    with ExitStack() as stack:
        for place, name, answer in (
            (operator, "_permute_strides", permuted),
            (torch.cuda, "_lazy_init", lambda: None),
            (torch.cuda, "current_device", lambda: 0),
            (torch.cuda, "get_device_properties", lambda *_: device),
            (CudaInterface, "get_device_properties", properties),
            (CudaInterface.Worker, "get_device_properties", properties),
            (CudaInterface, "is_bf16_supported", staticmethod(lambda **_: True)),
            (scheduler, "has_triton", lambda: True),
            (AsyncCompile, "triton", written),
        ):
            stack.enter_context(patch.object(place, name, answer))
        native = sys.modules["torch._C"]
        stack.enter_context(patch.object(native, "_cuda_getCurrentRawStream", int, create=True))
        yield
