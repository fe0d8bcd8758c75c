import pytest

from harness.core.static_figures import EXACT_FIGURES, WORDS, change, known_figure

KEPT = [(0, 0), (5, 5), *((value, None) for value in (-1, None, float("nan"), float("inf")))]


@pytest.mark.parametrize(("value", "figure"), KEPT)
def test_what_stands_for_unavailable_is_no_figure(value, figure):
    assert known_figure(value) == figure


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
