"""A terminal that says nothing of its width still shows everything."""

from io import StringIO

import pytest

from harness.report.console import TextConsole


@pytest.mark.parametrize(("columns", "width"), [("0", 80), ("20", 20), ("400", 400)])
def test_nothing_is_printed_into_no_column(monkeypatch, columns, width):
    monkeypatch.setenv("COLUMNS", columns)
    console = TextConsole(file=StringIO())
    assert console.width == width
    console.print("all of it")
    assert console.file.getvalue() == "all of it\n"
