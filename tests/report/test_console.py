"""Output on a terminal that does not know its width."""

from io import StringIO

import pytest

from harness.report.console import TextConsole


@pytest.mark.parametrize(("columns", "width"), [("0", 80), ("20", 20), ("400", 400)])
def test_a_terminal_of_unknown_width_has_a_default_width(monkeypatch, columns, width):
    monkeypatch.setenv("COLUMNS", columns)
    console = TextConsole(file=StringIO())
    assert console.width == width
    console.print("all of it")
    assert console.file.getvalue() == "all of it\n"
