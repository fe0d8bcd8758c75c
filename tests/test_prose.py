"""The rules of plain English that a program can check: help, sentences, words, and the commands in docs."""

import ast
import re
import shlex
from collections import Counter
from pathlib import Path

import pytest
import typer

from harness.commands.app import app
from harness.commands.sectioned_command import examples

ROOT = Path(__file__).resolve().parents[1]
COMMANDS = typer.main.get_command(app).commands
PARAMETERS = [
    pytest.param(param, id=f"{name} {param.name}")
    for name, command in COMMANDS.items()
    for param in command.params
    if param.name != "help"
]
# The first word of a help text that says what the option does. All others name what its value is.
VERBS = {
    "Also",
    "Set",
    "Write",
    "Read",
    "Show",
    "Print",
    "Compare",
    "Describe",
    "Update",
    "Run",
    "Keep",
    "Take",
}
LONGEST_HELP, LONGEST_SENTENCE = 25, 30

# Everyday words that this code once used as metaphors for data, and how often they are left in a plain sense.
METAPHORS = {
    "stands": 0, "beside": 47, "apart": 8, "asked": 5, "told": 0, "kept": 11,
    "said": 2, "held": 5, "brought": 0, "whose": 47, "nobody": 0, "rival": 0,
}  # fmt: skip


def sentences(text):
    return [part for part in re.split(r"(?<=[.!?])\s+|\n\s*\n|\n(?=\s*[-|#])", text) if part.strip()]


def texts_of(file):
    """Every string of a Python file, and the docstrings; what is filled in counts as one word."""
    tree = ast.parse(file.read_text("utf-8"))
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, documented) and ast.get_docstring(node) is not None
    }
    parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            filled = (part.value if isinstance(part, ast.Constant) else "X" for part in node.values)
            yield node.lineno, "".join(map(str, filled)), False
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            yield node.lineno, node.value, id(node) in docstrings


def printed_texts():
    """Every string of the harness of four words or more that is not a docstring, with its place."""
    for file in sorted((ROOT / "harness").rglob("*.py")):
        for line, text, docstring in texts_of(file):
            if not docstring and len(text.split()) >= 4:
                yield f"{file.relative_to(ROOT)}:{line}", text


@pytest.mark.parametrize("param", PARAMETERS)
def test_help_is_a_sentence_with_its_default(param):
    text = param.help
    assert text[0].isupper() or text[0] in "\"'"
    assert text.endswith(".")
    assert [part for part in sentences(text) if len(part.split()) > LONGEST_HELP] == []
    has_value = not getattr(param, "is_flag", False) and param.param_type_name == "option"
    if has_value and param.default is None and not param.required:
        states_default = "default:" in text or text.split()[0] in VERBS or text.startswith("With ")
        assert states_default, text


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_says_what_it_does_in_one_sentence(name):
    text = COMMANDS[name].help
    assert text.endswith(".")
    assert len(sentences(text)) == 1
    assert len(text.split()) <= LONGEST_HELP


def test_no_printed_sentence_is_long():
    long = [
        (place, sentence)
        for place, text in printed_texts()
        for sentence in sentences(text)
        if len(sentence.split()) > LONGEST_SENTENCE
    ]
    assert long == []


def test_metaphors_do_not_come_back():
    counted = Counter(
        word
        for folder in ("harness", "impls")
        for file in sorted((ROOT / folder).rglob("*.py"))
        for _, text, _ in texts_of(file)
        for word in re.findall(r"[a-z]+", text.lower())
        if word in METAPHORS
    )
    assert {word: count for word, count in counted.items() if count > METAPHORS[word]} == {}


def documented_commands():
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    pages += [page for page in sorted((ROOT / "docs").rglob("*.md")) if not page.name.startswith("CLAIMS")]
    for page in pages:
        text = page.read_text("utf-8").replace("\\\n", "")
        blocks = "\n".join(re.findall(r"^```\w*\n(.*?)^```", text, re.MULTILINE | re.DOTALL))
        lines = [
            *re.findall(r"^seqsweep .+$", blocks, re.MULTILINE),
            *re.findall(r"`(seqsweep [^`\n]+)`", text),
        ]
        yield from ((str(page.relative_to(ROOT)), line) for line in lines)
    yield from (("examples.toml", line) for lines in examples().values() for line in lines)


def parsed(line):
    """The command of a line, parsed as the shell and the command line would; nothing is run."""
    words = shlex.split(re.split(r"\s#|\s\|\s| >|;|…|\.\.\.", line)[0])[1:]
    if not words or words[0].startswith("-") or words[0].isupper():
        return None
    if words[1:]:
        with COMMANDS[words[0]].make_context(words[0], words[1:]) as context:
            return context
    return COMMANDS[words[0]]


@pytest.mark.parametrize(("page", "line"), list(documented_commands()))
def test_commands_in_docs_exist_with_their_options(page, line):
    parsed(line)
