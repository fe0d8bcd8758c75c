"""Sorting and filtering of tables by DataTables, as itables bundles it."""

from importlib.util import find_spec
from pathlib import Path

BUNDLE = "html/dt_bundle.js"  # in itables, which is not itself imported: its script is all that is needed
MISSING = "without sorting and filtering: pip install 'seqsweep[html]' (itables) brings them"


def datatables() -> str | None:
    """The script of DataTables; None where itables is not installed."""
    spec = find_spec("itables")
    if spec is None or spec.origin is None:
        return None
    file = Path(spec.origin).parent / BUNDLE
    return file.read_text(encoding="utf-8") if file.is_file() else None


def script_data(bundle: str) -> str:
    """The bundle as a script element can hold it, where `</script` and `<!--` have a meaning of their own.

    In JavaScript's strings a backslash before either's second sign changes nothing.
    """
    return bundle.replace("</script", "<\\/script").replace("<!--", "<\\!--")
