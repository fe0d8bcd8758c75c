"""Lower precision than requested, and incomplete gradients."""

from seqsweep import implementation

from impls.attention.family import AttentionWorkload
from impls.mask.family import MaskWorkload


@implementation(framework="torch", semantics="attended")
def attends_under_autocast(w: MaskWorkload):
    """Enters autocast when it is built, and never exits it."""
    import torch

    torch.autocast("cpu").__enter__()

    def attend(topk_indices, queries, keys, values):
        batch = torch.arange(w.batch)[:, None, None]
        k, v = keys[batch, topk_indices], values[batch, topk_indices]
        logits = (queries[..., None, :] @ k.transpose(-1, -2)) / w.head_dim**0.5
        return (torch.softmax(logits, -1) @ v)[..., 0, :].float()

    return attend


@implementation(framework="torch", semantics="attended")
def quantises_to_seven_bits(w: MaskWorkload):
    """Rounds keys and values to seven bits where bf16 is requested."""
    import torch

    def quantised(x):
        scale = x.abs().amax(-1, keepdim=True) / 63
        return (x / scale).round() * scale

    def attend(topk_indices, queries, keys, values):
        batch = torch.arange(w.batch)[:, None, None]
        k, v = (quantised(x.float())[batch, topk_indices] for x in (keys, values))
        logits = (queries.float()[..., None, :] @ k.transpose(-1, -2)) / w.head_dim**0.5
        return (torch.softmax(logits, -1) @ v)[..., 0, :].bfloat16()

    return attend


@implementation(framework="torch", semantics="masked_again")
def answers_in_half_the_bytes(w: MaskWorkload):
    """Returns float16 where float32 is requested, with -inf for values out of range."""
    import torch

    from impls.mask.reference import last_visible

    last = torch.from_numpy(last_visible(w))[:, None]

    def mask(topk_indices):
        out = torch.full((w.batch, w.rows, w.seq), -torch.inf, dtype=torch.float16)
        out.scatter_(-1, topk_indices.long(), 0.0)
        return out.masked_fill_(torch.arange(w.seq) > last, -torch.inf)

    return mask


def attended(q, k, v, w):
    from torch.nn.functional import scaled_dot_product_attention

    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    return scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True).transpose(1, 2)


@implementation(framework="torch", semantics="dense")
def forgets_a_gradient(w: AttentionWorkload):
    """Detaches its keys, so that their gradient is zero."""
    return lambda q, k, v: attended(q, k.detach(), v, w)


@implementation(framework="torch", semantics="dense")
def is_wrong_in_its_last_gradient(w: AttentionWorkload):
    """Omits the last key in its backward."""
    import torch

    def attend(q, k, v):
        return attended(q, torch.cat([k[:, :-1], k[:, -1:].detach()], 1), v, w)

    return attend


@implementation(framework="torch", semantics="dense")
def goes_back_before_it_is_asked(w: AttentionWorkload):
    """Computes its gradients in the forward, which `--mode bwd` does not time."""
    import sys

    import torch

    class Early(torch.autograd.Function):
        @staticmethod
        def forward(ctx, q, k, v, cotangent):
            with torch.enable_grad():
                leaves = [x.detach().requires_grad_() for x in (q, k, v)]
                result = attended(*leaves, w)
                ctx.gradients = torch.autograd.grad(result, leaves, cotangent)
            return result.detach()

        @staticmethod
        def backward(ctx, *_):
            return (*ctx.gradients, None)

    def attend(q, k, v):
        frame = sys._getframe(1)
        while frame is not None and not isinstance(frame.f_locals.get("cotangent"), tuple):
            frame = frame.f_back
        if frame is None:
            return attended(q, k, v, w)
        return Early.apply(q, k, v, frame.f_locals["cotangent"][0])

    return attend
