"""ASCII spellings of the harness's own signs, for terminals that take nothing else.

A stream with the encoding SPELLED applies them to all that is written to it. What is laid out in columns is
spelled before its widths are measured, since some spellings are longer than their signs.
"""

import codecs
import re
from dataclasses import fields, is_dataclass, replace
from encodings import ascii as plain
from typing import Any
from unicodedata import normalize

SPELLED = "seqsweep_ascii"  # to a stream whose encoding is called "ascii" typer writes UTF-8

_PAIRS = """
    × x  · .  − -  – -  ─ -  • *  ✗ x  ≈ ~  ∝ ~  ∩ &  ε e  φ phi  Φ Phi  “ "  ” "  … ...  → ->
    ≤ <=  ≥ >=  ≠ !=  ± +-  µ u  √ sqrt  Σ sum  Δ delta  ‖ ||  ° deg  ₂ _2
    ▁ _  ▂ .  ▃ :  ▄ -  ▅ =  ▆ +  ▇ *  █ #
"""
_SPELLINGS = str.maketrans(dict(re.findall(r"(\S) (\S+)", _PAIRS)))
_RAISED = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹⁻ⁿᵀ]+")


def to_ascii(text: str) -> str:
    """The text in ASCII: signs by their spellings, raised digits behind `^`, and escapes for all else."""
    if text.isascii():  # nearly always
        return text
    text = _RAISED.sub(lambda raised: "^" + normalize("NFKD", raised[0]), text)
    return text.translate(_SPELLINGS).encode("ascii", "backslashreplace").decode("ascii")


def spell_out(data: Any) -> Any:
    """Frozen data with every text in it in ASCII."""
    if isinstance(data, str):
        return to_ascii(data)
    if isinstance(data, tuple):
        return getattr(data, "_make", tuple)(map(spell_out, data))
    if is_dataclass(data) and not isinstance(data, type):
        return replace(data, **{field.name: spell_out(getattr(data, field.name)) for field in fields(data)})
    return data


def _spell(error: Any) -> tuple[str, int]:
    return to_ascii(error.object[error.start : error.end]), error.end


_CODEC = codecs.CodecInfo(
    *(codecs.ascii_encode, codecs.ascii_decode, None, None),
    *(plain.IncrementalEncoder, plain.IncrementalDecoder, SPELLED),
)
codecs.register({SPELLED: _CODEC}.get)
codecs.register_error(SPELLED, _spell)
