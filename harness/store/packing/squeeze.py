"""Compression of plain data into text, for what compilers say of a program: it is long and repeats itself."""

import base64
import zlib

LEAST_BYTES = 160  # what is shorter stays as it is, and can be read by eye
MOST_BYTES = 1 << 26  # decompressed: a damaged or hostile line must not fill the memory
# deflate's preset dictionary: what such data is likely to hold, the likeliest last. It belongs to the format:
# with another one, lines that are stored cannot be read.
LIKELY = (
    b'"get-tuple-element":"dynamic-update-slice":"dynamic-slice":"custom-call":"conditional":"all-gather":'
    b'"all-reduce":"rng-bit-generator":"reduce-window":"concatenate":"transpose":"convolution":"convert":'
    b'"compare":"select":"scatter":"gather":"sort":"reduce":"while":"iota":"slice":"copy":"dot":"pad":'
    b'"subtract":"divide":"multiply":"exponential":"maximum":"add":"broadcast":"constant":"reshape":'
    b'"bitcast":"tuple":"parameter":"fusion":"call":"matmul_only","optimised_module","compiled",'
    b'"not given","the compiler gives none","XLA\'s figure for this backend leaves temporaries out",'
    b'"collectives":[{"bytes":,"count":,"op":"custom_calls":["kernels":[{"tpu_kernels":[{"warnings":["'
    b'"weighed":[10,"operator_weights":[{"estimated_cycles":,"opcode":"fusion","operator":"fusion.",'
    b'"share":0.0,"source":".py:","turns":1},{"stages":[{"bytes":,"entered":1,"flops":0,"operators":,'
    b'"stage":""},{"peak_bytes":"optimal_s":"flops_source":"matmul_only","generated_code_bytes":'
    b'"unavailable":{"bytes_accessed":"flops":{"alias_bytes":0,"argument_bytes":,"bytes_accessed":.0,'
    b'"flops":.0,"opcodes":{"output_bytes":,"program":"sha256:","temp_bytes":'
)


def squeeze(data: bytes) -> str:
    deflate = zlib.compressobj(9, wbits=-15, zdict=LIKELY)
    return base64.b64encode(deflate.compress(data) + deflate.flush()).decode()


def unsqueeze(data: bytes) -> bytes:
    """Decompress what :func:`squeeze` made. ValueError for anything else."""
    inflate = zlib.decompressobj(-15, zdict=LIKELY)
    try:
        text = inflate.decompress(data, MOST_BYTES)
    except zlib.error as error:
        raise ValueError(f"it cannot be decompressed ({error})") from None
    if not inflate.eof:
        raise ValueError("it cannot be decompressed")
    return text
