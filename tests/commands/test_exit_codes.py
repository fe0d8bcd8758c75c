"""Words of earlier versions: refused in one sentence, and taken by nothing any more."""

import pytest
import typer.main

from harness.commands.app import app
from harness.commands.exit_codes import FORMER_WORDS, call_app

COMMANDS = vars(typer.main.get_command(app))["commands"]


@pytest.mark.parametrize("word", FORMER_WORDS)
@pytest.mark.parametrize("value", ["", "=x"])
def test_a_former_word_is_refused_with_what_does_its_work_now(word, value, capsys):
    command, *flags = word.split()
    assert call_app(app, [command, "mask", *(flag + value for flag in flags)]) == 2
    out, err = capsys.readouterr()
    assert (out, err) == ("", f"seqsweep: {word} was removed: {FORMER_WORDS[word]}\n")


def test_nothing_takes_a_former_word():
    taken = {
        f"{name} {word}"
        for name, command in COMMANDS.items()
        for each in command.params
        for word in each.opts
    }
    assert not FORMER_WORDS.keys() & (taken | COMMANDS.keys())


def test_the_table_is_sorted():
    assert list(FORMER_WORDS) == sorted(FORMER_WORDS)
