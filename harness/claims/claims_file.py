"""Reading a family's claims.py."""

import runpy
import traceback
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from harness.catalog import accelerators
from harness.catalog.catalog import FamilyInfo
from harness.claims.documents import Table
from harness.claims.model import VERDICTS, Claim
from harness.core.errors import UsageError, nearest

FILE = "claims.py"


def claims_of(family: FamilyInfo) -> tuple[Claim, ...]:
    """The claims of the claims.py beside a family's module, in its order; empty without that file.

    UsageError: `claims.py:LINE: …` for whatever is unknown or contradicts itself.
    """
    path = Path(family.file).with_name(FILE)
    if not path.is_file():
        return ()
    with placed(str(path)):
        names = runpy.run_path(str(path))
    for name, value in names.items():
        if isinstance(value, Table):
            value.id = name.lower().replace("_", "-")
    claims = tuple(value for value in names.values() if isinstance(value, Claim))
    for claim in claims:
        with placed(claim.file, claim.where):
            _complete(claim, family)
    return claims


def _complete(claim: Claim, family: FamilyInfo) -> None:
    """Give a claim its family, and the shape that is meant by what it gives."""
    if claim.expect not in VERDICTS:
        raise ValueError(f'unknown verdict "{claim.expect}"{nearest(claim.expect, VERDICTS)}')
    if not claim.says:
        raise ValueError(f"{claim.id} says nothing; its docstring is what was published")
    of = [citation.source.of for citation in claim.sources if citation.source.of]
    if not claim.sources or 0 < len(of) < len(claim.sources):
        raise ValueError(
            f"{claim.id} needs sources that all are of a pull request (of=…), or for context none"
        )
    for name in claim.targets:
        accelerators.target(name)
    claim.family = family.name
    claim.given = {name: family.field(name).parse(value) for name, value in claim.given.items()}
    claim.shape = {field.name: field.default for field in family.fields if not field.required} | claim.given


@contextmanager
def placed(file: str, where: str = "") -> Generator[None]:
    """UsageError, with the line of the file, for whatever its code raises in this block."""
    try:
        yield
    except Exception as error:  # an author's code may raise anything
        lines = [
            frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file
        ]
        if isinstance(error, SyntaxError) and error.filename == file:
            lines = [error.lineno]
        place = f"{file}:{lines[-1]}" if lines else where or file
        said = (
            str(error) if isinstance(error, UsageError | ValueError) else f"{type(error).__name__}: {error}"
        )
        raise UsageError(f"{place}: {said}") from None
