"""Pages of a run in which every name is a payload, in headless Chromium: none may run, or load anything.

`make browser` runs it behind the probe of a good page. Markdown is turned to HTML with HTML allowed, as no
host of comments does it: nothing but the escaping stands between a name and the browser.
"""

import http.server
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

from markdown_it import MarkdownIt

from harness.commands.app import app
from harness.commands.exit_codes import call_app
from harness.gate.outcome import INCORRECT, CaseVerdict
from harness.gate.output import junit
from harness.gate.report.github import summary
from harness.store.stored_run import NOTES
from tests.findings.kept import K, store_kept_run, timed
from tests.gate.report.outcomes import outcome_of
from tests.records import record_of

RAN = "PAYLOAD-RAN"
CONTROL = "control.html"  # with a payload as it is, which has to be noticed
PARTS = ("verdict", "table", "errors", "method", "overturn", "plans", "profile", "replay", "chart")
MARKDOWN = ("page.md", "receipt.md", "summary.md")


def payload(where: str, port: int) -> str:
    """What runs or loads wherever a context is left open: text, attribute, script, comment, CDATA, link."""
    call, url = f"console.log('{RAN} {where}')", f"http://127.0.0.1:{port}/{where}"
    return (
        f"<script>{call}</script></title></style></textarea></desc><script src={url}></script>"
        f'"\'><img src={url} onerror="{call}"><svg onload="{call}"> --><script>{call}</script>'
        f"]]><script>{call}</script></script><script>{call}</script>${{{call}}}{{{{7*7}}}}"
        f"![i]({url}) [a](javascript:{call}) <{url}> [r]: {url} @import url({url});"
        f"\x1b]8;;{url}\x07link\x1b]8;;\x07\x1b[2J\u202e\u2066`{call}`|\n"
        f"<!doctype html><script>{call}</script>\r\n# h"
    )


def write_pages(folder: Path, port: int) -> list[Path]:
    """Every page, chart and report that a run of payloads gives, below `folder`."""

    def bad(where: str) -> str:
        return payload(where, port)

    name, other = bad("name").replace("/", "∕"), bad("other").replace("/", "∕")
    facts = {"facts": {bad("fact"): bad("value")}}
    records = [
        timed(name, 4 * K, 1e-3, baseline=True, **facts),
        timed(other, 4 * K, 2e-3, options={"how": bad("option")}, workload={"kind": bad("axis")}),
        timed(name, 8 * K, 4e-3, baseline=True),
        timed(other, 8 * K, 2e-3),
        record_of(other, 16 * K, status="crashed", reason=bad("reason")),
    ]
    kept = store_kept_run(folder, records, notes=f"- {bad('notes')}\n")
    suite = {
        "family": "mask", "baseline": f"mask/{name}", "question": bad("question"),
        "implementations": [f"mask/{name}", f"mask/{other}"], "cases": [record.case for record in records],
    }  # fmt: skip
    run = next(folder.glob("runs/*"))
    info = json.loads((run / "run.json").read_text())
    info |= {
        "suites": {bad("suite"): suite},
        "problems": [bad("problem")],
        "command": ["seqsweep", bad("command")],
    }
    (run / "run.json").write_text(json.dumps(info))
    for file in ("environments.json", "fingerprints.json"):
        facts = json.loads((run / file).read_text())
        for each in facts.values():
            each |= {"git": {"commit": bad("commit"), "dirty": True}, "cpu": bad("cpu"), "host": bad("host")}
        (run / file).write_text(json.dumps(facts))
    assert (run / NOTES).is_file(), kept.name
    page = folder / "page.md"
    page.write_text("".join(f"<!-- seqsweep:{part} -->\n<!-- seqsweep:end -->\n" for part in PARTS))
    for words in (
        ["report", "--run", str(run), "--html", str(folder / "page.html")],
        ["report", "--run", str(run), "--into", str(page)],
        ["chart", "--run", str(run), "--out", str(folder / "charts")],
        ["report", "--run", str(run), "--pr"],
    ):
        with (folder / "receipt.md").open("w") as said, redirect_stdout(said):
            assert call_app(app, words) == 0, words
    case = CaseVerdict(
        records[1].case, INCORRECT, bad("verdict"), notes=(bad("note"),), file=f"{name}.py", line=1
    )
    outcome = replace(outcome_of((case,)), notes=(bad("notes"),), base=bad("base"))
    (folder / "junit.xml").write_bytes(junit(outcome))
    (folder / "summary.md").write_text(summary(outcome))
    for path in [folder / name for name in MARKDOWN if (folder / name).is_file()]:
        path.with_suffix(".md.html").write_text(
            MarkdownIt("commonmark", {"html": True}).enable("table").render(path.read_text())
        )
    (folder / CONTROL).write_text(f"<!doctype html><p>{bad('control')}")
    return sorted(path for path in folder.rglob("*") if path.suffix in {".html", ".svg", ".xml"})


class Attributes(HTMLParser):
    """What of a document would run or load: handlers, links that are scripts, addresses elsewhere."""

    def __init__(self, port: int) -> None:
        super().__init__()
        self.elsewhere, self.found = f"127.0.0.1:{port}", list[str]()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            active = name.startswith("on") or (value or "").strip().lower().startswith("javascript:")
            loads = name in {"src", "href", "xlink:href", "action", "data", "style"} and self.elsewhere in (
                value or ""
            )
            self.found += [f"<{tag} {name}={value!r}>"] if active or loads else []


@contextmanager
def listening() -> Iterator[tuple[int, list[str]]]:
    """A port, and the paths that somebody asks it for."""
    asked: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_error(404)

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1], asked
        server.shutdown()


def try_payloads(dump: Callable[[Path], tuple[str, list[str]]], folder: Path) -> tuple[list[str], int]:
    """What is wrong with any page, and how many were opened; `dump` opens one as browser.py does."""
    wrong: list[str] = []
    with listening() as (port, asked):
        pages = write_pages(folder, port)
        for path in pages:
            before = len(asked)
            shown, console = dump(path)
            attributes = Attributes(port)
            attributes.feed(shown)
            found = [*(line for line in console if RAN in line), *asked[before:], *attributes.found]
            if path.name == CONTROL:
                caught = any(RAN in line for line in found), len(asked) > before, bool(attributes.found)
                wrong += [] if all(caught) else [f"nothing would be noticed: {caught}"]
            else:
                wrong += [f"{path.relative_to(folder)}: {each}" for each in found]
    return wrong, len(pages) - 1
