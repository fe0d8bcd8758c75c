"""`claims`: verdicts on published numbers, and the documents that list them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from harness.claims.evidence import Workplace, gather
from harness.claims.model import Claim, Need, Verdict
from harness.claims.page import PAGES, page
from harness.claims.page_diff import alike, parts
from harness.claims.verdict import judge
from harness.commands.exit_codes import NOTHING
from harness.commands.output import progress_of
from harness.commands.streams import print_line
from harness.core.errors import UsageError, nearest
from harness.core.version import version_of

if TYPE_CHECKING:
    from harness.catalog.catalog import Catalog
    from harness.sweep.project import Project

FOLDER = Path("docs")
RESTS_ON = ("jax", "jaxlib", "libtpu", "jax-cuda13-plugin", "torch")  # compilers, and what contracts run in
STALE = 1


@dataclass(frozen=True)
class ClaimsOutcome:
    """`notes` are sentences for the reader, `problems` those that `--check` fails for."""

    verdicts: tuple[Verdict, ...]
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    def code(self, *, check: bool) -> int:
        return STALE if check and self.problems else 0


def claims(
    project: Project,
    names: Sequence[str] = (),
    *,
    check: bool = False,
    say: Callable[[str], None] = lambda _: None,
) -> ClaimsOutcome:
    """The verdicts on all claims, or on those that are named: a family, or one claim as FAMILY/ID.

    With all of them the documents are written beside bench.yaml; with `check` they are compared instead.
    They are not written where a compiler is missing, or something took too long or crashed, because they
    would lose figures that they have. `say` is called with a line before a slow step. UsageError for a
    claims.yaml that cannot be understood, and for a name that is no family or claim.
    """
    catalog = project.catalog
    selected = _select_claims(names, catalog)
    evidence = gather(_workplace(project, say), _needs(selected, catalog))
    verdicts = tuple(judge(claim, catalog, evidence) for claim in selected)
    folder = project.config.home / FOLDER
    versions = _versions()
    texts = {folder / name: page(verdicts, versions, context=context) for name, context in PAGES.items()}
    if check:
        notes, problems = _missing_evidence(verdicts), list(_unexpected_sentences(verdicts))
        for path, text in texts.items():
            problems += _differences(path, verdicts, text, whole=not names)
        return ClaimsOutcome(verdicts, notes, tuple(problems))
    return ClaimsOutcome(verdicts, _write(texts, verdicts, whole=not names), _unexpected_sentences(verdicts))


def compile_shard(
    project: Project, names: Sequence[str], text: str, say: Callable[[str], None], *, json: bool
) -> int:
    """Compile the part of the claims' programs that `3/8` names, and judge nothing; the exit code."""
    from harness.claims.evidence import compile_part
    from harness.commands.output import print_json
    from harness.sweep.shard import Shard

    shard = Shard.parse(text, {})
    required = _needs(_select_claims(names, project.catalog), project.catalog)
    answers = compile_part(_workplace(project, say), required, shard)
    counts = Counter("absent" if answer.absent else answer.status for answer in answers)
    if json:
        print_json({"shard": shard.index, "of": shard.count, "programs": counts})
    else:
        said = ", ".join(f"{count} {status}" for status, count in counts.items()) or "none"
        folder = project.results / "compiled"
        print_line(f"shard {shard.index}/{shard.count}, programs: {said}; kept in {folder}")
    return NOTHING if answers and not counts.keys() - {"absent"} else 0


def _workplace(project: Project, say: Callable[[str], None]) -> Workplace:
    return Workplace(project.catalog, project.config, project.results, progress_of, say)


def _needs(claims: Sequence[Claim], catalog: Catalog) -> list[Need]:
    from harness.claims.needs import needs

    return list(dict.fromkeys(need for claim in claims for need in needs(claim, catalog)))


def print_outcome(outcome: ClaimsOutcome, *, json: bool, check: bool = False) -> int:
    """Print the outcome; the exit code."""
    from harness.claims.report import claims_data, print_claims
    from harness.commands.output import console, print_json

    if json:
        print_json({**claims_data(outcome.verdicts), "notes": outcome.notes, "problems": outcome.problems})
    else:
        out = console()
        print_claims(out, outcome.verdicts)
        for line in (*outcome.notes, *outcome.problems):
            out.print(line, soft_wrap=True)
    return outcome.code(check=check)


def _select_claims(names: Sequence[str], catalog: Catalog) -> list[Claim]:
    """The claims that `names` selects, in the order of the files; all of them without a name."""
    from harness.claims.read_yaml import claims_of

    families = dict.fromkeys(name.partition("/")[0] for name in names) or catalog.families
    known = [claim for name in families for claim in claims_of(catalog.family(name), catalog)]
    for name in names:
        if "/" in name and name not in {claim.name for claim in known}:
            raise UsageError(f'unknown claim "{name}"{nearest(name, [claim.name for claim in known])}')
    return [claim for claim in known if not names or {claim.family, claim.name} & set(names)]


def _versions() -> dict[str, str]:
    """Versions of the packages that the figures depend on, where installed; `2.9.0+cpu` is 2.9.0."""
    versions = {name: version_of(name) for name in RESTS_ON}
    return {name: text.partition("+")[0] for name, text in versions.items() if text}


def _incomplete_reasons(verdicts: Sequence[Verdict]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(verdict.incomplete for verdict in verdicts if verdict.incomplete))


def _missing_evidence(verdicts: Sequence[Verdict]) -> tuple[str, ...]:
    return tuple(f"not compared, for figures are missing: {why}" for why in _incomplete_reasons(verdicts))


def _unexpected_sentences(verdicts: Sequence[Verdict]) -> tuple[str, ...]:
    return tuple(
        f"{verdict.claim.name} is {verdict.judged}, expected {verdict.claim.expect} ({verdict.claim.where})"
        for verdict in verdicts
        if verdict.unexpected
    )


def _write(texts: Mapping[Path, str], verdicts: Sequence[Verdict], *, whole: bool) -> tuple[str, ...]:
    """Write the documents, unless evidence is missing; sentences on what was done."""
    if not whole:
        return ()
    lacking = _incomplete_reasons(verdicts)
    if lacking:
        names = " and ".join(str(path) for path in texts)
        return (f"{names} were left as they are, for they would hold less: {'; '.join(lacking)}",)
    from harness.store.atomic import write_files

    for path, text in texts.items():
        write_files(path.parent, {path.name: text.encode()})
    return tuple(f"wrote {path}" for path in texts)


def _differences(path: Path, verdicts: Sequence[Verdict], text: str, *, whole: bool) -> list[str]:
    """How a document differs from the text that would be written.

    A claim whose evidence is incomplete on this machine is not compared.
    """
    lacking = _incomplete_reasons(verdicts)
    if not path.is_file():
        return [f"{path} does not exist: seqsweep claims writes it"]
    known = path.read_bytes().decode(errors="replace")
    skipped = {verdict.claim.name for verdict in verdicts if verdict.incomplete}
    stale = _stale_parts(parts(known), parts(text), skipped, whole=whole and not lacking)
    if whole and not lacking and not stale and not alike(known, text):
        stale = ["its layout"]
    return [f"{path} is stale: {', '.join(stale)}; seqsweep claims writes it anew"] if stale else []


def _stale_parts(
    known: Mapping[str, str], new: Mapping[str, str], skipped: set[str], *, whole: bool
) -> list[str]:
    """The claims that differ or are new; with `whole` also missing ones, and the text between claims."""
    changed = [
        name
        for name in new
        if (whole or "/" in name) and name not in skipped and not alike(known.get(name, ""), new[name])
    ]
    gone = [name for name in known if whole and name not in new]
    return [name or "its head" for name in (*changed, *gone)]
