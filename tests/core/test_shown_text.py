"""What is left of a text that may hold anything."""

import json

from harness.core.shown_text import (
    escape_json,
    file_name,
    message_of,
)


def test_json_keeps_every_value() -> None:
    value = {"a\x9b\u202e": ["\x7f \U000e0041 é 日本 \n \x1b", 1.5]}
    text = escape_json(json.dumps(value, ensure_ascii=False))
    assert not set(text) & set("\x9b\u202e\x7f\U000e0041\x1b\n")
    assert "é 日本" in text
    assert json.loads(text) == value


def test_a_files_name_leads_out_of_no_folder_and_is_short_enough_for_one():
    assert file_name("mask a-b") == "mask a-b"
    assert file_name("../a\n\x00b").startswith("..-a b-")
    assert file_name("a/b") != file_name("a-b")
    long = [file_name(f"{letter * 300}{end}") for letter in "a日" for end in "12"]
    assert len(set(long)) == 4
    assert max(len(name.encode()) for name in long) <= 200


def test_object_without_a_message_is_named_by_its_class():
    class Odd:
        pass

    assert message_of(ValueError(f"no rule for {Odd()} and {object()}")) == ("no rule for Odd and object")
