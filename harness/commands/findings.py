"""`report`: the findings document of stored runs, receipts, and a record by its hash."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import msgspec

from harness.commands.exit_codes import NOTHING, STALE
from harness.commands.output import print_json, print_note, write_data
from harness.commands.streams import print_line
from harness.core.errors import MachineError, UsageError, decode_utf8, nearest
from harness.core.plain_data import plain_number
from harness.core.record import Record
from harness.core.regular_file import NOT_REGULAR, read_regular
from harness.core.shown_text import escape_json
from harness.core.typed_command import quick_notes
from harness.findings.compose import compose, fill_blocks, whole_page
from harness.findings.document import Document
from harness.findings.findings_run import FindingsRun, read_findings_run
from harness.findings.receipt import Receipt, receipt_of, require_picture_url
from harness.findings.receipt_text import text_of, to_text
from harness.findings.recheck import DIFFERS, HOLDS, StatementCheck
from harness.store.atomic import write_files
from harness.store.find import REFERENCE, all_runs, find, runs_in
from harness.sweep.project import Project

LOCK = "constraints.txt"
LEAST_DIGITS = 4


def read_runs(project: Project, runs: Sequence[str], suites: Sequence[str]) -> list[FindingsRun]:
    """The named runs, limited to the suites. UsageError for a suite that no run has."""
    kept: list[FindingsRun] = []
    for typed in runs or ("latest",):
        folder = find(project.results, typed)
        kept.append(read_findings_run(folder, typed if "/" in typed else folder.id, suites))
    known = {suite.name for run in kept for suite in run.suites}
    for name in suites:
        if name not in known:
            raise UsageError(f'no run has a suite "{name}"{nearest(name, known)}')
    return kept


def compose_document(project: Project, runs: Sequence[FindingsRun], *, charts: bool) -> Document:
    from harness.commands.claims import claims_part

    lock = project.config.home / LOCK
    claims = claims_part({record.family for run in runs for record in run.records}, project.catalog)
    return compose(runs, claims, lock if lock.is_file() else None, charts=charts)


def print_document(document: Document, *, json: bool) -> None:
    """Print the document as Markdown, without its charts, or as plain data."""
    if json:
        print_json(asdict(document))
    else:
        write_data(whole_page(document, "Findings", ".").encode(), None)


def write_page(document: Document, runs: Sequence[FindingsRun], file: Path) -> None:
    """Write the document as one HTML page, with a note on standard error if its tables cannot sort."""
    from harness.findings.html import MISSING, datatables, to_html

    bundle = datatables()
    if bundle is None:
        print_note(f"{file}: {MISSING}")
    title = f"Findings: {', '.join(dict.fromkeys(run.name.rpartition('/')[2] for run in runs))}"
    write_data(to_html(document, runs, title, bundle).encode(), file, "--html")


def write_into(document: Document, file: Path, *, check: bool) -> tuple[list[str], int]:
    """Update the file's blocks, and draw the charts into a folder next to it.

    Returns sentences and the exit code. With `check` nothing is written; the sentences name stale files.
    """
    folder = file.parent / file.stem.lower()
    known = _read_if_present(file)
    text = decode_utf8(known, str(file)) if known is not None else None
    new = (
        whole_page(document, "Findings", folder.name)
        if text is None
        else fill_blocks(text, document, folder.name, str(file))
    )
    wanted = {file: new.encode(), **{folder / name: svg for name, svg in document.pictures.items()}}
    stale = [path for path, data in wanted.items() if _read_if_present(path) != data]
    if check:
        return [f"{path} is stale" for path in stale], STALE if stale else 0
    for path in stale:
        target = path.resolve()  # a link still points to the written file
        write_files(target.parent, {target.name: wanted[path]})
    return [f"wrote {path}" for path in stale] or [f"{file} is up to date"], 0


def write_receipt(runs: Sequence[FindingsRun], chart: str | None) -> str:
    """The receipt of one run. UsageError for several runs, and for a noisy one."""
    if len(runs) != 1:
        raise UsageError(f"--pr: a receipt describes one run, not {len(runs)}; name one with --run")
    if quick_notes(runs[0].info):
        why = f"{runs[0].name} was measured with --quick, which is too noisy for a receipt"
        raise UsageError(f"--pr: {why}; measure without --quick, or name another run with --run")
    if not any(record.timing for record in runs[0].records):
        raise UsageError(f"--pr: {runs[0].name} has no times; name a run of seqsweep run with --run")
    if chart is not None:
        try:
            require_picture_url(chart)
        except ValueError as error:
            raise UsageError(f"--chart: {error}") from None
    return to_text(receipt_of(runs[0], chart or ""))


def read_text(path: Path) -> str:
    """The text of a file. UsageError if it does not exist."""
    data = _read_if_present(path)
    if data is None:
        raise UsageError(f"{path}: does not exist; name a file with a receipt")
    return data.decode(errors="replace")


def print_receipt_check(receipt: Receipt, checks: Sequence[StatementCheck], *, json: bool) -> int:
    """Print the outcome of each line, and return the exit code: 1 if a line differs."""
    outcomes = Counter(check.outcome for check in checks)
    if json:
        lines = [{"line": text_of(c.about, c.statement), "outcome": c.outcome, "why": c.why} for c in checks]
        print_json({"run": receipt.run, "lines": lines})
    else:
        for check in checks:
            why = f"\n    ({check.why})" if check.why else ""
            print_line(f"{check.outcome}: {text_of(check.about, check.statement)}{why}")
        counted = ", ".join(f"{outcome} ({count})" for outcome, count in outcomes.items())
        print_line(f"{len(checks)} lines of run {receipt.run}: {counted or 'nothing to check'}")
    if outcomes[DIFFERS]:
        return STALE
    return 0 if outcomes[HOLDS] else NOTHING


def _read_if_present(path: Path) -> bytes | None:
    try:
        return read_regular(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        why = error.strerror or error
        if why == NOT_REGULAR:
            raise UsageError(f"{path}: {why}; name a file") from None
        raise MachineError(f"{path}: cannot be read ({why}); fix that, or name another file") from None


def find_record(project: Project, prefix: str, run: str | None) -> Record:
    """The record whose hash starts with `prefix`, in one run, or in all stored ones, newest first."""
    if len(prefix) < LEAST_DIGITS or not set(prefix) <= set("0123456789abcdef"):
        raise UsageError(f'--record: "{prefix}" is not a hash; write its first {LEAST_DIGITS} digits or more')
    results = project.results
    stored = (
        [*reversed(all_runs(results)), *runs_in(results / REFERENCE)] if run is None else [find(results, run)]
    )
    for folder in stored:
        if record := folder.record_of_hash(prefix):
            return record
    raise UsageError(f'--record: none of {len(stored)} runs has a record "{prefix}"; name its run with --run')


def print_record(record: Record, *, json: bool) -> None:
    """Print a record as one JSON object on a line, or as one field per line."""
    if json:
        print_json(record.to_json())
        return

    for name, value in record.to_json().items():
        shown: Any = msgspec.json.encode(value, enc_hook=plain_number).decode()
        print_line(f"{name}: {escape_json(shown)}")
