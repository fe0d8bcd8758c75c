"""A gate as JUnit XML, which most CI systems show as a list of tests: a suite per family, a test per case.

A verdict against a case is a failure, a case that could not be compared an error. Cases that were not
compared are skipped: no test passes without a measurement.
"""

from collections.abc import Sequence
from typing import NamedTuple
from xml.etree.ElementTree import Element, SubElement, tostring

from harness.core.grouped import grouped
from harness.core.shown_text import clean_line, clean_text
from harness.gate.outcome import IMPROVED, NOT_ENOUGH, REGRESSED, WARN, CaseVerdict, GateOutcome
from harness.gate.report import wording
from harness.gate.report.case_names import name_of
from harness.gate.report.presentation import ERROR, FAILURE, PRESENTATIONS, SKIPPED


class _Test(NamedTuple):
    """`result` is None for a test that passed."""

    suite: str
    name: str
    result: str | None
    message: str
    text: str
    place: dict[str, str]


def junit(outcome: GateOutcome) -> bytes:
    """The document. The wall time is the whole gate's: pairs of all cases run together."""
    tests = [_test(outcome, case) for case in outcome.cases]
    for case, reason in outcome.left_out.items():
        tests.append(_Test(name_of(case).family, case, SKIPPED, "left out", reason, {}))
    if outcome.broken:
        tests.append(_Test("gate", "sides", ERROR, "a side does not load", outcome.broken, {}))
    root = Element("testsuites", {"name": "seqsweep gate", **_counts(tests)}, time=f"{outcome.wall_s:.3f}")
    for name, members in grouped(tests, lambda test: test.suite).items():
        suite = SubElement(root, "testsuite", {"name": name, **_counts(members)})
        for test in members:
            _write(suite, test)
    for element in root.iter():  # XML has no form for most control characters, escaped or not
        element.text = clean_text(element.text or "") or None
        element.attrib.update({name: clean_line(value) for name, value in element.attrib.items()})
    return tostring(root, encoding="utf-8", xml_declaration=True)


def _test(outcome: GateOutcome, case: CaseVerdict) -> _Test:
    result = PRESENTATIONS[case.verdict].result
    if outcome.self_check and case.verdict in {REGRESSED, IMPROVED}:
        result = ERROR
    if case.verdict == NOT_ENOUGH and outcome.inconclusive == WARN:
        result = SKIPPED
    message = " ".join(filter(None, [wording.in_words(case.verdict), wording.measured(case)]))
    place = {"file": case.file or "", "line": str(case.line or "")}
    given = {name: value for name, value in place.items() if value}
    return _Test(name_of(case.case).family, case.case, result, message, wording.reason_and_notes(case), given)


def _counts(tests: Sequence[_Test]) -> dict[str, str]:
    names = {FAILURE: "failures", ERROR: "errors", SKIPPED: "skipped"}
    counts = {name: sum(test.result == result for test in tests) for result, name in names.items()}
    return {name: str(count) for name, count in {"tests": len(tests), **counts}.items()}


def _write(suite: Element, test: _Test) -> None:
    """Add a test to its suite; one that passed keeps its figures as `system-out`."""
    element = SubElement(suite, "testcase", {"classname": test.suite, "name": test.name, **test.place})
    if test.result is None:
        SubElement(element, "system-out").text = f"{test.message}\n{test.text}"
        return
    message = test.message if test.result != SKIPPED else f"{test.message}: {test.text}"
    SubElement(element, test.result, message=message).text = test.text
