"""Sorting and filtering of tables by DataTables, as itables bundles it."""

from importlib.util import find_spec
from pathlib import Path

from harness.findings.html.element import Markup, element, join

BUNDLE = "html/dt_bundle.js"  # in itables, which is not itself imported: its script is all that is needed
MISSING = "without sorting and filtering: pip install 'seqsweep[html]' (itables) brings them"


def datatables() -> str | None:
    """The script of DataTables; None where itables is not installed."""
    spec = find_spec("itables")
    if spec is None or spec.origin is None:
        return None
    file = Path(spec.origin).parent / BUNDLE
    return file.read_text(encoding="utf-8") if file.is_file() else None


def script_elements(bundle: str | None) -> Markup:
    """The bundle as data, which the page's own script imports, and that script.

    In a script element `</script` and `<!--` have a meaning of their own; in JavaScript's strings a
    backslash before either's second sign changes nothing.
    """
    own = (Path(__file__).parent / "page.js").read_text(encoding="utf-8")
    data = (bundle or "").replace("</script", "<\\/script").replace("<!--", "<\\!--")
    kept = element("script", Markup(data), type="text/plain", id="datatables")
    return join((kept, element("script", Markup(f"\n{own}"), type="module")), "\n")
