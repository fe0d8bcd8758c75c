"""Where this program lies. No other file counts folders upward."""

from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]  # harness/
PROJECT = PACKAGE.parent  # what holds harness/ and impls/: a checkout, or the folder a wheel went to
ENTRY = (
    PACKAGE / "entry" if (PACKAGE / "entry").is_dir() else PROJECT
)  # what holds seqsweep/: a wheel has it on top
