import os
import sys

from harness.xla.compiler import capture_stderr, fallback_warnings

CUB = (
    "W1122 00:00:26.300012    2512 sort_rewriter.cc:792] Missing deviceless CUB scratch size data for sort. "
    "Using fallback sort algorithm rather than SortRewriter, which will be slower at runtime. \n"
    "To avoid this, compile with a GPU present\n"
)
REST = (
    "I1122 00:00:25.919715    2512 pjrt_api.cc:119] GetPjrtApi was found for cuda\n"
    "I1122 00:00:25.999008    2512 se_gpu_pjrt_compiler.cc:242] Performing a deviceless compilation.\n"
    "an implementation prints: fallback\n"
)


def test_a_fallback_message_is_a_warning_and_the_rest_is_dropped():
    (warning,) = fallback_warnings(REST + CUB + CUB)
    assert warning.startswith("the compiler reports: Missing deviceless CUB")
    assert fallback_warnings(REST) == ()


def test_standard_error_of_native_code_is_captured(capfd):
    with capture_stderr() as read_log:
        os.write(2, b"from C\n")
        print("from Python", file=sys.stderr, flush=True)
        heard = read_log()
    os.write(2, b"afterwards\n")
    assert "from C\n" in heard
    assert capfd.readouterr().err.splitlines()[-1] == "afterwards"
