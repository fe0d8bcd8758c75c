"""`claims`: verdicts on published numbers, and the documents that list them."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.catalog.catalog import Catalog
from harness.catalog.known_frameworks import packages_of, traits_of
from harness.claims.gather import gather
from harness.claims.model import AGAINST, Claim, Need, Verdict, claims_of
from harness.claims.report import PAGES, alike, claims_data, page, parts, print_claims
from harness.claims.verdict import figures_of, judge
from harness.commands.exit_codes import STALE
from harness.commands.output import console, print_json, progress_of
from harness.core.errors import UsageError, nearest
from harness.core.version import version_of
from harness.findings.document import FindingsTable, Part, Slot
from harness.store.atomic import write_files
from harness.sweep.project import Project

FOLDER = Path("docs")


@dataclass(frozen=True)
class ClaimsOutcome:
    """The verdicts. `notes` are sentences for the reader; `problems` are those that make `--check` fail."""

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
    log: Callable[[str], None] = lambda _: None,
) -> ClaimsOutcome:
    """Judge all claims, or the named ones: a family, or one claim as FAMILY/ID.

    Without names it also writes the documents next to bench.yaml; with `check` it compares them instead.
    It does not write them if a compiler is missing, or a step timed out or crashed, because they would lose
    figures. `log` is called with a line before a slow step. UsageError for an invalid claims.py, and for a
    name that is not a family or a claim.
    """
    catalog = project.catalog
    selected = _select_claims(names, catalog)
    required = _needs(selected, catalog)
    evidence = gather(required, project, progress_of, log)
    verdicts = tuple(judge(claim, catalog, evidence) for claim in selected)
    folder = project.config.home / FOLDER
    versions = _versions({catalog.implementation(need.case.implementation).framework for need in required})
    texts = {folder / name: page(verdicts, versions, context=context) for name, context in PAGES.items()}
    problems = [
        f"{verdict.claim.name} is {verdict.judged}, expected {verdict.claim.expect} ({verdict.claim.where})"
        for verdict in verdicts
        if verdict.unexpected
    ]
    lacking = {verdict.incomplete: None for verdict in verdicts if verdict.incomplete}
    if check:
        notes = [f"not compared, because figures are missing: {why}" for why in lacking]
        skipped = {verdict.claim.name for verdict in verdicts if verdict.incomplete}
        for path, text in texts.items():
            problems += _differences(path, text, skipped, whole=not names)
    else:
        notes = [] if names else _write(texts, lacking)
    return ClaimsOutcome(verdicts, tuple(notes), tuple(problems))


def claims_part(families: Collection[str], catalog: Catalog) -> Part | None:
    """Published claims that do not hold, by their expected verdicts, which `--check` tests.

    None if the families have no claims.
    """
    present = sorted({*families} & {*catalog.families})
    known = [claim for name in present for claim in claims_of(catalog.family(name))]
    if not known:
        return None
    against = [claim for claim in known if claim.expect in AGAINST and not claim.context]
    against.sort(key=lambda claim: not claim.headline)
    rows = tuple((Slot(c.name), Slot(c.headline or c.says), Slot(c.expect)) for c in against)
    table = FindingsTable(("claim", "published or found", "verdict"), rows)
    return Part(
        sentences=() if rows else ("No published claim is known to be wrong.",), table=table if rows else None
    )


def _needs(claims: Sequence[Claim], catalog: Catalog) -> list[Need]:
    """The evidence that the claims' figures need. Each function runs once without evidence."""
    required = (figures_of(claim, catalog, {})[1] for claim in claims)
    return list(dict.fromkeys(need for needs in required for need in needs))


def print_outcome(outcome: ClaimsOutcome, *, json: bool, check: bool = False) -> int:
    """Print the outcome, and return the exit code."""
    if json:
        print_json({**claims_data(outcome.verdicts), "notes": outcome.notes, "problems": outcome.problems})
    else:
        out = console()
        print_claims(out, outcome.verdicts)
        for line in (*outcome.notes, *outcome.problems):
            out.print(line, soft_wrap=True)
    return outcome.code(check=check)


def _select_claims(names: Sequence[str], catalog: Catalog) -> list[Claim]:
    """The claims that `names` selects (none: all), in the order of the files."""
    families = dict.fromkeys(name.partition("/")[0] for name in names) or catalog.families
    known = [claim for name in families for claim in claims_of(catalog.family(name))]
    for name in names:
        if "/" in name and name not in {claim.name for claim in known}:
            raise UsageError(f'unknown claim "{name}"{nearest(name, [claim.name for claim in known])}')
    return [claim for claim in known if not names or {claim.family, claim.name} & set(names)]


def _versions(frameworks: Collection[str]) -> dict[str, str]:
    """Versions of the installed frameworks that compile or trace; `2.9.0+cpu` becomes 2.9.0."""
    planning = {name for name in frameworks if traits_of(name).host_compiler}
    versions = {package.name: version_of(package.name) for package in packages_of(planning)}
    return {name: text.partition("+")[0] for name, text in versions.items() if text}


def _write(texts: Mapping[Path, str], lacking: Collection[str]) -> list[str]:
    """Write the documents unless evidence is missing. Returns sentences on what was done."""
    if lacking:
        names = " and ".join(str(path) for path in texts)
        return [f"{names} were not written, because figures are missing: {'; '.join(lacking)}"]
    for path, text in texts.items():
        write_files(path.parent, {path.name: text.encode()})
    return [f"wrote {path}" for path in texts]


def _differences(path: Path, text: str, skipped: Collection[str], *, whole: bool) -> list[str]:
    """Describe how a document differs from the text that would be written.

    `skipped` are claims whose evidence is incomplete on this machine. `whole` also compares the text between
    claims, and the claims that no longer exist.
    """
    if not path.is_file():
        return [f"{path} does not exist; run seqsweep claims to write it"]
    written = path.read_bytes().decode(errors="replace")
    known, new, whole = parts(written), parts(text), whole and not skipped
    compared = dict.fromkeys([*new, *known]) if whole else (name for name in new if "/" in name)
    stale = [
        name or "the introduction"
        for name in compared
        if name not in skipped and not alike(known.get(name, ""), new.get(name, ""))
    ]
    if whole and not stale and not alike(written, text):
        stale = ["the layout"]
    return [f"{path} is stale: {', '.join(stale)}; run seqsweep claims to write it again"] if stale else []
