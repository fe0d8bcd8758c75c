"""HTML page: everything in the document, details of each row, and no HTML from records."""

import re
from dataclasses import replace
from html.parser import HTMLParser

from harness.findings.compose import compose
from harness.findings.html import inline_svg, sample_strip, to_html
from tests.commands.test_text_of_others import NASTY, assert_shown
from tests.findings.stored import K, store_findings_run, sweep
from tests.records import record_of, timing_of

VOID = {"meta", "link"}
HOSTILE = f"""{NASTY} --> <img src=x onerror=alert(1)> "quoted" 'single' &amp; </script><!--"""


class Outline(HTMLParser):
    """Elements, their attributes, and the text outside scripts, as a browser reads them."""

    def __init__(self, page):
        super().__init__()
        self.open, self.tags, self.text, self.attributes = [], [], "", []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += "" if self.open[-1:] in (["script"], ["style"]) else data

    def values(self, name):
        return [value for _, key, value in self.attributes if key == name]


def page_of(run, bundle=None, *, charts=False):
    return to_html(compose([run], charts=charts), [run], "Findings", bundle)


def hostile():
    """A run with hostile text in reasons, facts, options and warnings."""
    wrong = {"reason": HOSTILE, "options": {"how": HOSTILE}}
    timing = timing_of([1e-3] * 6, warnings=(HOSTILE,))
    return [
        replace(sweep()[0], timing=timing, facts={HOSTILE: HOSTILE}),
        sweep()[1],
        record_of("sparse", 8 * K, status="crashed", crash_file="crashes/a.txt", **wrong),
    ]


def test_every_section_and_every_figure_of_the_document_is_in_the_page(tmp_path):
    run = store_findings_run(tmp_path, sweep())
    document = compose([run], charts=False)
    seen = Outline(page_of(run))
    for section in document.sections:
        assert section.title in seen.text
        assert section.key in seen.values("id")
        for part in section.parts:
            assert all(sentence in seen.text for sentence in part.sentences)
            for cell in (cell for row in (part.table.rows if part.table else ()) for cell in row):
                assert (cell.empty or cell.text) in seen.text


def test_a_row_links_to_its_samples_and_ratios(tmp_path):
    seen = Outline(page_of(store_findings_run(tmp_path, sweep())))
    anchors = [link[1:] for link in seen.values("href") if link.startswith("#case-")]
    assert len(anchors) == len(set(anchors)) == len(sweep())
    assert set(anchors) <= set(seen.values("id"))
    assert "8 samples in 8 rounds, 980 µs to 1.02 ms" in seen.text
    assert "contract exact: passed, mismatches 0, whole" in seen.text
    assert "oom: plans 32 GiB" in seen.text
    assert "fingerprint: sha256:aa" in seen.text
    assert "git: commit c0ffee, dirty True" in seen.text
    assert seen.values("data-with") == ["mask/sparse", "mask/dense"] * 2
    assert seen.values("data-order")[:2] == ["4096", "0.001"]


def test_details_compare_with_each_other_implementation(tmp_path):
    text = Outline(page_of(store_findings_run(tmp_path, sweep()))).text
    behind = text[text.index("4Ki dense: ok") :]
    assert "sparse0.5000× [0.5000, 0.5000]faster" in behind[: behind.index("4Ki sparse: ok")]


def test_text_of_a_record_is_escaped(tmp_path):
    records = hostile()
    run = replace(store_findings_run(tmp_path, records, notes=HOSTILE), crash_logs={"crashes/a.txt": HOSTILE})
    plain, seen = (
        Outline(page_of(store_findings_run(tmp_path / "plain", sweep()))),
        Outline(page_of(run, charts=True)),
    )
    assert_shown(seen.text)
    drawn = {"clippath", "defs", "figure", "g", "path", "pre", "rect", "style", "svg", "text", "use"}
    assert set(seen.tags) - set(plain.tags) <= drawn | {"sup", "title", "tspan"}
    assert not [name for _, name, _ in seen.attributes if name.startswith("on")]
    assert "<img src=x onerror=alert(1)>" in seen.text
    assert "\x1b" not in page_of(run)


def test_a_bundle_cannot_end_its_element(tmp_path):
    run = store_findings_run(tmp_path, sweep())
    page = page_of(run, 'const a = "</script><!-- <script>";')
    assert Outline(page).tags == Outline(page_of(run)).tags
    assert page.count("</script>") == 2
    assert "<!--" not in page


def test_the_page_loads_nothing_from_other_sites(tmp_path):
    page = page_of(store_findings_run(tmp_path, sweep()), charts=True)
    outside = [
        v for t, n, v in Outline(page).attributes if n in {"src", "href"} and not v.startswith(("#", "data:"))
    ]
    assert outside == []
    assert "default-src 'none'" in page
    assert page == page_of(store_findings_run(tmp_path / "again", sweep()), charts=True)


def test_ids_of_two_charts_differ():
    svg = b'<?xml version="1.0"?><svg width="1"><defs><g id="a"/></defs><use href="#a"/><g id="b"/></svg>'
    assert inline_svg(svg, 'says "it"', "p1-") == (
        '<svg role="img" aria-label="says &quot;it&quot;" width="1">'
        '<defs><g id="p1-a"/></defs><use href="#p1-a"/><g/></svg>'
    )


def test_a_strip_has_a_dot_for_each_sample():
    strip = sample_strip(timing_of([1.0, 3.0, 2.0]))
    assert re.findall(r"M([\d.]+) ([\d.]+)h0", strip) == [
        ("6.0", "6.0"),
        ("594.0", "24.0"),
        ("300.0", "42.0"),
    ]
    assert "<rect" not in strip, "three rounds give no interval"
