"""A gate as JUnit XML, which most CI systems show as a list of tests: a suite per family, a test per case.

What was decided against a case is a failure, what could not be compared an error, and what was not
decided is skipped, so that no green test stands for a case that nobody measured.
"""

from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement, tostring

from harness.core.shown_text import clean_line, clean_text
from harness.gate.outcome import IMPROVED, NOT_ENOUGH, REGRESSED, WARN, CaseVerdict, GateOutcome
from harness.gate.report import wording
from harness.gate.report.case_names import name_of
from harness.gate.report.presentation import ERROR, FAILURE, PRESENTATIONS, SKIPPED


def junit(outcome: GateOutcome) -> bytes:
    """The document. The wall time is the whole gate's: pairs of all cases run together."""
    root = Element("testsuites", name="seqsweep gate")
    if outcome.broken:
        test = SubElement(
            SubElement(root, "testsuite", name="gate"), "testcase", classname="gate", name="sides"
        )
        _write_result(test, ERROR, "a side does not load", outcome.broken)
    for family, cases in _families(outcome).items():
        suite = SubElement(root, "testsuite", name=family)
        for case in cases:
            _write_result(_test(suite, family, case.case, case), _result(outcome, case), *_message(case))
        for case, reason in outcome.left_out.items():
            if name_of(case).family == family:
                _write_result(_test(suite, family, case), SKIPPED, "left out", reason)
    for suite in root:
        _count(suite, [suite])
    _count(root, list(root))
    root.set("time", f"{outcome.wall_s:.3f}")
    for element in root.iter():  # XML has no form for most control characters, escaped or not
        element.text = clean_text(element.text or "") or None
        element.attrib.update({name: clean_line(value) for name, value in element.attrib.items()})
    return tostring(root, encoding="utf-8", xml_declaration=True)


def _families(outcome: GateOutcome) -> dict[str, list[CaseVerdict]]:
    families: dict[str, list[CaseVerdict]] = {}
    for case in outcome.cases:
        families.setdefault(name_of(case.case).family, []).append(case)
    for case in outcome.left_out:
        families.setdefault(name_of(case).family, [])
    return families


def _result(outcome: GateOutcome, case: CaseVerdict) -> str | None:
    if outcome.self_check and case.verdict in {REGRESSED, IMPROVED}:
        return ERROR
    if case.verdict == NOT_ENOUGH and outcome.inconclusive == WARN:
        return SKIPPED
    return PRESENTATIONS[case.verdict].result


def _message(case: CaseVerdict) -> tuple[str, str]:
    measured = f" {wording.change(case)} {wording.interval(case)}" if case.effect is not None else ""
    return f"{wording.in_words(case.verdict)}{measured}", "\n".join([case.reason, *case.notes])


def _test(suite: Element, family: str, name: str, case: CaseVerdict | None = None) -> Element:
    test = SubElement(suite, "testcase", classname=family, name=name)
    if case is not None and case.file:
        test.set("file", case.file)
    if case is not None and case.line:
        test.set("line", str(case.line))
    return test


def _write_result(test: Element, result: str | None, message: str, text: str) -> None:
    """The outcome of one test; one that passed keeps its figures as output."""
    if result is None:
        SubElement(test, "system-out").text = f"{message}\n{text}"
        return
    child = SubElement(test, result, message=message if result != SKIPPED else f"{message}: {text}")
    child.text = text


def _count(element: Element, suites: Sequence[Element]) -> None:
    tests = [test for suite in suites for test in suite]
    element.set("tests", str(len(tests)))
    for result, name in ((FAILURE, "failures"), (ERROR, "errors"), (SKIPPED, "skipped")):
        element.set(name, str(sum(test.find(result) is not None for test in tests)))
