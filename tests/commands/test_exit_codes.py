"""Commands of earlier versions are refused with a sentence that names the replacement."""

import pytest
import typer.main

from harness.commands.app import app
from harness.commands.exit_codes import FORMER_COMMANDS, call_app


@pytest.mark.parametrize("word", FORMER_COMMANDS)
def test_a_former_command_is_refused_with_its_replacement(word, capsys):
    assert word not in vars(typer.main.get_command(app))["commands"]
    assert call_app(app, [word, "mask"]) == 2
    assert capsys.readouterr() == ("", f"seqsweep: {word} was removed; {FORMER_COMMANDS[word]}\n")
