"""`claims`: what families have published, what is found of it here, and docs/CLAIMS.md."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

from harness.analysis.claims import judge
from harness.analysis.expression import Evidence
from harness.command.asked import Asked
from harness.command.claim_evidence import evidence
from harness.report.claims_page import alike, page, parts
from harness.spec.claim import Claim, Verdict

if TYPE_CHECKING:
    from harness.catalog.catalog import Catalog

FILE = Path("docs") / "CLAIMS.md"
RESTS_ON = ("jax", "jaxlib", "libtpu", "jax-cuda13-plugin", "torch")  # compilers, and what contracts run in
STALE = 1


@dataclass(frozen=True)
class Outcome:
    """`notes` are sentences for whoever asked, `problems` those that `--check` fails for."""

    verdicts: tuple[Verdict, ...]
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    def code(self, *, check: bool) -> int:
        return STALE if check and self.problems else 0


def claims(
    asked: Asked,
    families: Sequence[str] = (),
    *,
    check: bool = False,
    say: Callable[[str], None] = lambda _: None,
) -> Outcome:
    """The verdicts on all claims, or on those of some families.

    With all families docs/CLAIMS.md is written beside bench.yaml; with `check` it is compared instead. It
    is not written where a compiler is missing, or something took too long or crashed, for it would hold
    less than it does. `say` hears of what takes long. UsageError for a claims.yaml that cannot be understood.
    """
    from harness.sweep.claims import claims_of
    from harness.sweep.needs import needs

    catalog, _ = asked.catalog()
    chosen = [catalog.family(name) for name in dict.fromkeys(families)] or list(catalog.families.values())
    found = [claim for family in chosen for claim in claims_of(family, catalog)]
    wanted = list(dict.fromkeys(need for claim in found for need in needs(claim, catalog)))
    verdicts = _judged(found, catalog, evidence(asked, catalog, wanted, say))
    path = asked.config().home / FILE
    text = page(verdicts, _versions())
    if check:
        return Outcome(verdicts, *_compared(path, verdicts, text, whole=not families))
    return Outcome(verdicts, _written(path, verdicts, text, whole=not families), _unexpected(verdicts))


def tell(outcome: Outcome, asked: Asked, *, check: bool = False) -> int:
    """Print the outcome; the exit code."""
    from harness.command.printing import console, print_json
    from harness.report.claims import claims_data, print_claims

    if asked.json:
        print_json({**claims_data(outcome.verdicts), "notes": outcome.notes, "problems": outcome.problems})
    else:
        out = console()
        print_claims(out, outcome.verdicts)
        for line in (*outcome.notes, *outcome.problems):
            out.print(line, soft_wrap=True, markup=False)
    return outcome.code(check=check)


def _judged(found: Sequence[Claim], catalog: Catalog, told: Evidence) -> tuple[Verdict, ...]:
    return tuple(judge(claim, catalog, told) for claim in found)


def _versions() -> dict[str, str]:
    """Of what the figures rest on, where it is installed; `2.9.0+cpu` is 2.9.0."""
    found: dict[str, str] = {}
    for name in RESTS_ON:
        try:
            found[name] = version(name).partition("+")[0]
        except PackageNotFoundError:  # an extra that is not installed
            continue
    return found


def _incomplete(verdicts: Sequence[Verdict]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one.incomplete for one in verdicts if one.incomplete))


def _unexpected(verdicts: Sequence[Verdict]) -> tuple[str, ...]:
    return tuple(
        f"{one.claim.name} is {one.word}, expected {one.claim.expect} ({one.claim.where})"
        for one in verdicts
        if one.unexpected
    )


def _written(path: Path, verdicts: Sequence[Verdict], text: str, *, whole: bool) -> tuple[str, ...]:
    """What became of the document."""
    if not whole:
        return ()
    lacking = _incomplete(verdicts)
    if lacking:
        return (f"{path} was left as it is, for it would hold less: {'; '.join(lacking)}",)
    from harness.store.files import write_files

    write_files(path.parent, {path.name: text.encode()})
    return (f"wrote {path}",)


def _compared(
    path: Path, verdicts: Sequence[Verdict], text: str, *, whole: bool
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(what was not compared, what differs); a claim that lacks something of this machine is not compared."""
    lacking = _incomplete(verdicts)
    notes = tuple(f"not compared, for figures are missing: {why}" for why in lacking)
    problems = list(_unexpected(verdicts))
    if not path.is_file():
        return notes, (*problems, f"{path} does not exist: seqsweep claims writes it")
    known = path.read_bytes().decode(errors="replace")
    skipped = {one.claim.name for one in verdicts if one.incomplete}
    stale = _stale(parts(known), parts(text), skipped, whole=whole and not lacking)
    if whole and not lacking and not stale and not alike(known, text):
        stale = ["its layout"]
    if stale:
        problems.append(f"{path} is stale: {', '.join(stale)}; seqsweep claims writes it anew")
    return notes, tuple(problems)


def _stale(known: Mapping[str, str], new: Mapping[str, str], skipped: set[str], *, whole: bool) -> list[str]:
    """The claims that differ, and those that are gone or new; with `whole` also what stands between them."""
    names = [name for name in new if "/" in name and name not in skipped]
    found = [name for name in names if not alike(known.get(name, ""), new[name])]
    families = {name.split("/")[0] for name in new if "/" in name}
    found += [n for n in known if "/" in n and n not in new and (whole or n.split("/")[0] in families)]
    if whole:
        found += [
            name or "its head"
            for name in new
            if "/" not in name and not alike(known.get(name, ""), new[name])
        ]
    return found
