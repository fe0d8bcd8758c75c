"""The decorator that turns dataclasses into flags: what typer sees of it, and what the command gets."""

from dataclasses import FrozenInstanceError, dataclass
from inspect import signature
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from harness.commands.option_groups import splice_groups

Words = Annotated[list[str] | None, typer.Option("--word")]


@dataclass(frozen=True)
class Base:
    words: Words = None
    count: Annotated[int, typer.Option("--count")] = 3


@dataclass(frozen=True)
class Wider(Base):
    loud: Annotated[bool, typer.Option("--loud")] = False


@dataclass(frozen=True)
class Named:
    name: Annotated[str, typer.Option("--name")]


CALLS = []


def greet(who: Annotated[str, typer.Argument()] = "all", *, group: Wider, last: bool = False) -> None:
    """Greets."""
    CALLS.append((who, group, last))


def need(*, group: Named) -> None:
    CALLS.append(group)


@pytest.fixture
def invoke():
    app = typer.Typer(pretty_exceptions_enable=False, rich_markup_mode=None)
    app.command("greet")(splice_groups(greet))
    app.command("need")(splice_groups(need))

    def call(*words):
        CALLS.clear()
        done = CliRunner().invoke(app, words)
        return done, list(CALLS)

    return call


def test_typer_sees_the_fields_in_place_of_their_group():
    flat = signature(splice_groups(greet)).parameters
    assert list(flat) == ["who", "words", "count", "loud", "last"]
    assert [one.default for one in flat.values()] == ["all", None, 3, False, False]
    assert flat["words"].annotation is Words


def test_the_command_gets_its_group_as_typed(invoke):
    done, calls = invoke("greet", "you", "--loud", "--count", "5", "--word", "a", "--last")
    assert done.exit_code == 0
    assert calls == [("you", Wider(["a"], 5, loud=True), True)]
    with pytest.raises(FrozenInstanceError):
        calls[0][1].count = 4


@pytest.mark.parametrize("words", [["--name", "x"], ["--cuont", "3"], ["--count", "three"], ["--count"]])
def test_what_the_group_does_not_offer_is_refused(invoke, words):
    done, calls = invoke("greet", *words)
    assert (done.exit_code, calls) == (2, [])


def test_two_groups_with_one_field_are_a_mistake_of_the_command():
    def command(*, group: Base, other: Wider) -> None: ...

    with pytest.raises(TypeError, match="command: two parameters are named words"):
        splice_groups(command)
