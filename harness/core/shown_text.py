"""Sanitising text from plugins, compilers, configurations and files before it is shown.

It may contain anything: colours, a window's title, a NUL that XML does not allow, marks that change the
direction of writing. All output to a terminal, chart, page, report or workflow command is sanitised here.
Only JSON has unchanged text, because it can escape every character.
"""

import html
import json
import re
import unicodedata
import zlib

MOST_BYTES = 200  # of a name in a file name, which has at most 255

# Terminal sequences are removed completely, with their letters: those with parameters (colours, the cursor),
# those with a text and an end (titles, links), and those of one letter (ECMA-48, 5.4 and 5.6).
_SEQUENCES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]*[0-~]"
)
_MARKDOWN = re.compile(r"[\\`*_|\[\]#~$]")
# GitHub looks for @user and #123 in rendered Markdown, without escapes, so a zero-width space is inserted.
# Renovate does the same with the release notes that it quotes.
_REFERENCE = re.compile(r"(?<!\w)@(?=\w)|#(?=\d)")
NO_WIDTH = "&#8203;"
_OBJECT = re.compile(r"<(?:[\w.<>]*\.)?(\w+) object at 0x[0-9a-f]+>")


def clean_text(text: str) -> str:
    """The text with only visible characters, spaces and newlines; other white space becomes a space."""
    if text.isprintable():  # the usual case
        return text
    text = _SEQUENCES.sub("", text.replace("\r\n", "\n"))
    odd = {c for c in set(text) if not _shows(c) and c != "\n"}
    return text.translate({ord(c): " " if c.isspace() else None for c in odd})


def clean_line(text: str) -> str:
    """The cleaned text on one line, with single spaces."""
    return " ".join(clean_text(text).split())


def message_of(error: BaseException) -> str:
    """An exception's message in one line, even if `str()` of it raises another exception.

    An object that is shown as an address is replaced by its class.
    """
    try:
        return _OBJECT.sub(r"\1", clean_line(str(error)))[:300]
    except BaseException as second:
        return f"(its message raises {type(second).__name__})"


def file_name(text: str) -> str:
    """The cleaned text as part of a file name, without `/`; shortened, with a checksum, if it changed."""
    name = clean_line(text).replace("/", "-")
    if name == text and len(name.encode()) <= MOST_BYTES:
        return name
    return f"{name[:40]}-{zlib.crc32(text.encode('utf-8', 'surrogatepass')):08x}"


def escape_markdown(text: str) -> str:
    """The cleaned line, escaped for Markdown, HTML, table cells, and GitHub's references."""
    flat = _MARKDOWN.sub(r"\\\g<0>", clean_line(text))
    flat = flat.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _REFERENCE.sub(rf"\g<0>{NO_WIDTH}", flat)


def escape_html(text: str) -> str:
    """The cleaned text, escaped for HTML text or a quoted attribute."""
    return html.escape(clean_text(text))


def escape_json(text: str) -> str:
    """A JSON document with the same values, with escapes for invisible characters."""
    odd = {c for c in set(text) if not _shows(c)}
    return text.translate({ord(c): json.dumps(c)[1:-1] for c in odd})


def _shows(character: str) -> bool:
    """Whether a character is visible or a space; `isprintable` accepts only the space U+0020."""
    return character.isprintable() or unicodedata.category(character) == "Zs"
