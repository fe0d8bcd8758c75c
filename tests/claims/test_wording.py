"""Values in words."""

import pytest

from harness.claims.wording import value_text

NARROW = "\u202f"


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (True, "", "yes"), (False, "", "no"), (283467841536, "B", "264.0 GiB"),
        (142606336, "bytes", f"142{NARROW}606{NARROW}336 bytes"), (274877906944, "", "2.749e11"),
        (10142.6, "×", f"10{NARROW}140×"), (6429.02, "×", f"6{NARROW}429×"), (4.3333, "×", "4.333×"),
        (84, "%", "84 %"), (0.0002943, "s", "0.0002943 s"), (-3.25, "", "-3.25"),
        (1268.6, "TFLOP/s", f"1{NARROW}269 TFLOP/s"), ("sha256:0123456789abcdef", "", "sha256:01234567…"),
        ("ok", "", "ok"),
    ],
)  # fmt: skip
def test_values_as_text(value, unit, text):
    assert value_text(value, unit) == text
