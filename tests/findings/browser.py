"""The page of a kept run in headless Chromium: sorted, filtered, compared, unfolded, light and dark.

`make browser` runs it; CI has no browser.
"""

import html
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # started as a file
from tests.findings.payloads import try_payloads  # noqa: E402

RUN = "results/reference/20261123T205009Z-c7f20ab"
MOST = 5 * 2**20  # bytes of the page of a default sweep
SCHEMES = {"light": 1, "dark": 0}


def dump(browser: str, page: Path, folder: Path, *settings: str) -> tuple[str, list[str]]:
    """The document as it stands after a while, and what the console said."""
    words = [
        browser,
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        f"--user-data-dir={folder / 'profile'}",
    ]
    words += [
        "--enable-logging=stderr",
        "--virtual-time-budget=20000",
        *settings,
        "--dump-dom",
        page.as_uri(),
    ]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


def main() -> int:
    browser = shutil.which("chromium") or shutil.which("chromium-headless-shell")
    if browser is None:
        print("no Chromium here: apt-get install chromium")
        return 0
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        page, probed = folder / "page.html", folder / "probed.html"
        command = [sys.executable, str(ROOT / "cli.py"), "report", "--run", RUN, "--html", str(page)]
        subprocess.run(command, cwd=ROOT, check=True)
        text = page.read_text()
        if len(text.encode()) > MOST:
            wrong.append(f"the page has {len(text.encode())} bytes")
        probe = (Path(__file__).parent / "probe.js").read_text()
        probed.write_text(text.replace("</body>", f'<script type="module">{probe}</script></body>'))
        for scheme, number in SCHEMES.items():
            shown, console = dump(browser, probed, folder, f"--blink-settings=preferredColorScheme={number}")
            answers = re.search(r'data-answers="([^"]*)"', shown)
            found = json.loads(html.unescape(answers[1])) if answers else {"probe": "did not end"}
            wrong += [f"{scheme}: {key}: {said}" for key, said in found.items() if said is not True]
            wrong += [f"{scheme}: {line}" for line in console]
        bare = folder / "bare.html"
        bare.write_text(text.replace("script-src 'unsafe-inline' blob:", "script-src 'none'"))
        shown, _ = dump(browser, bare, folder)
        if 'class="dt-search"' in shown or shown.count("<td") != text.count("<td"):
            wrong.append("without scripts the page is another one")
        (folder / "payloads").mkdir()
        more, pages = try_payloads(lambda path: dump(browser, path, folder), folder / "payloads")
        wrong += more
    print("\n".join(wrong) or f"the page is as it should be, and on {pages} pages of payloads none ran")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
