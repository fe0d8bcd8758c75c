import pytest

from harness.core.errors import MachineError, UsageError, decode_utf8, speaks_of_oom


@pytest.mark.parametrize(
    "text",
    [
        "JaxRuntimeError RESOURCE_EXHAUSTED: Out of memory allocating 123 bytes.",
        "MemoryError Unable to allocate 32.0 MiB for an array",
        "RuntimeError DefaultCPUAllocator: can't allocate memory: you tried to allocate 1 bytes",
        "terminate called after throwing an instance of 'std::bad_alloc'",
        "OutOfMemoryError CUDA out of memory. Tried to allocate 2.00 GiB",
    ],
)
def test_the_ways_in_which_frameworks_say_that_memory_is_exhausted(text):
    assert speaks_of_oom(text)


def test_other_errors_do_not_speak_of_memory():
    assert not speaks_of_oom("ValueError: operands could not be broadcast together")


def test_exit_codes_are_the_documented_ones():
    assert (UsageError.exit_code, MachineError.exit_code) == (2, 5)


def test_text_that_is_no_utf_8_names_its_line():
    assert decode_utf8("é\n".encode(), "page.md") == "é\n"
    with pytest.raises(UsageError, match=r"^page\.md:2: byte 0xe9 is not UTF-8; save the file as UTF-8$"):
        decode_utf8(b"one\ncaf\xe9\n", "page.md")
