import pytest

from harness.core.static_figures import EXACT_FIGURES, WORDS, change


@pytest.mark.parametrize(
    ("figure", "old", "new", "text"),
    [
        ("temp_bytes", 2**22, 2**23, "temp 4.00 MiB -> 8.00 MiB (2.00×)"),
        ("temp_bytes", 0, 16, "temp 0 B -> 16 B"),
        ("temp_bytes", 16, 0, "temp 16 B -> 0 B (0×)"),
        ("temp_bytes", 2**30, 2**30 - 4, "temp 1073741824 B -> 1073741820 B (-4 B)"),
        ("flops", 12345678, 12345679, "FLOPs 12345678 -> 12345679 (+1)"),
        ("flops", None, 5, "FLOPs unavailable -> 5"),
        ("flops", 5, None, "FLOPs 5 -> unavailable"),
    ],
)
def test_a_change_in_words(figure, old, new, text):
    assert change(figure, old, new) == text


def test_every_figure_has_its_word():
    assert set(EXACT_FIGURES) == set(WORDS)
    assert len(set(WORDS.values())) == len(EXACT_FIGURES)
