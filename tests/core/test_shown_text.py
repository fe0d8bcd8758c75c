"""What is left of a text that may hold anything."""

import json

import pytest

from harness.core.shown_text import (
    clean_line,
    clean_text,
    escape_json,
    escape_markdown,
    file_name,
    message_of,
)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("as it is: 1.41× ≤ 3 µs – “ok” 日本 é", "as it is: 1.41× ≤ 3 µs – “ok” 日本 é"),
        ("\x1b[1;31mred\x1b[0m \x1b[38:5:1mred\x9b0m \x1b[?25lred", "red red red"),
        ("\x1b]0;title\x07a\x1b]8;;https://x\x1b\\b\x1b]8;;\x1b\\ \x9dtitle\x9cc \x1bPq\x1b\\d", "ab c d"),
        ("\x1b]0;a title without an end\nnext", "0;a title without an end\nnext"),
        ("\x1b(B a \x1bc b \x1b", " a  b "),
        ("nul\x00 bell\x07 back\x08 delete\x7f next\x84line", "nul bell back delete nextline"),
        ("a\r\nb\rc\td\x0be\x85f\u2028g\u2029h\xa0i\u202fj", "a\nb c d e f g h\xa0i\u202fj"),
        ("\u202eleft\u202c \u2066x\u2069 \u200bzero\u200d \ufeff \u00adsoft", "left x zero  soft"),
        ("lone\ud800 \udfff \ufffe \uffff \U000e0041", "lone    "),
        ("::error::x ]]> <b> [red]m[/red] :smile:", "::error::x ]]> <b> [red]m[/red] :smile:"),
        ("", ""),
    ],
)
def test_what_shows_stays(text: str, left: str) -> None:
    assert clean_text(text) == left
    assert clean_text(left) == left
    assert clean_line(text) == " ".join(left.split())


def test_json_keeps_every_value() -> None:
    value = {"a\x9b\u202e": ["\x7f \U000e0041 é 日本 \n \x1b", 1.5]}
    text = escape_json(json.dumps(value, ensure_ascii=False))
    assert not set(text) & set("\x9b\u202e\x7f\U000e0041\x1b\n")
    assert "é 日本" in text
    assert json.loads(text) == value


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a|b `c` *d* _e_ [f](g) # ~h~ $i$ \\", r"a\|b \`c\` \*d\* \_e\_ \[f\](g) \# \~h\~ \$i\$ \\"),
        ("<script>alert(1)</script> &amp;", "&lt;script&gt;alert(1)&lt;/script&gt; &amp;amp;"),
        ("[red]m[/red] \x1b[31mred\x1b[0m", r"\[red\]m\[/red\] red"),
        (
            "a --> b <!-- c -->\n<!-- seqsweep:end -->",
            "a --&gt; b &lt;!-- c --&gt; &lt;!-- seqsweep:end --&gt;",
        ),
        ("@me, a@b and [k=1]@seq=2", r"@&#8203;me, a@b and \[k=1\]@&#8203;seq=2"),
        ("#12, a/b#12, # 1 and &#39;", r"\#&#8203;12, a/b\#&#8203;12, \# 1 and &amp;\#&#8203;39;"),
        ("one\n::error::two\r\n\n| three |", r"one ::error::two \| three \|"),
    ],
)
def test_markdown_takes_nothing_for_its_own(text: str, left: str) -> None:
    assert escape_markdown(text) == left


def test_a_files_name_leads_out_of_no_folder_and_is_short_enough_for_one():
    assert file_name("mask a-b") == "mask a-b"
    assert file_name("../a\n\x00b").startswith("..-a b-")
    assert file_name("a/b") != file_name("a-b")
    long = [file_name(f"{letter * 300}{end}") for letter in "a日" for end in "12"]
    assert len(set(long)) == 4
    assert max(len(name.encode()) for name in long) <= 200


def test_an_object_without_words_of_its_own_is_named_by_its_class():
    class Odd:
        pass

    assert message_of(ValueError(f"no rule for {Odd()} and {object()}")) == ("no rule for Odd and object")
