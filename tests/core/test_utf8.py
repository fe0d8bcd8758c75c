import pytest

from harness.core.errors import UsageError
from harness.core.utf8 import decode_utf8


def test_text_that_is_no_utf_8_names_its_line():
    assert decode_utf8("é\n".encode(), "page.md") == "é\n"
    with pytest.raises(UsageError, match=r"^page\.md:2: byte 0xe9 is not UTF-8; save the file as UTF-8$"):
        decode_utf8(b"one\ncaf\xe9\n", "page.md")
