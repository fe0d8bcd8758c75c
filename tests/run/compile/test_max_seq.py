import pytest

from harness.run.compile.max_seq import LONGEST, LengthSearch


def run_search(limit, *grid, longest=LONGEST):
    """(lengths tried, the search at its end) where what is at most `limit` long fits."""
    search, tried = LengthSearch(longest=longest), []
    for length in grid:
        search.record(length, fits=length <= limit)
    while (length := search.next_length()) is not None:
        assert length not in tried
        tried.append(length)
        search.record(length, fits=length <= limit)
    return tried, search


@pytest.mark.parametrize("limit", [1, 5, 1000, 1024, 1025, 30_000, 100_000, 3_000_001])
@pytest.mark.parametrize("grid", [(1024,), (256, 4096), (1, 2), (65536,)], ids=str)
def test_the_gap_closes_to_a_sixteenth_of_an_octave(limit, grid):
    tried, search = run_search(limit, *grid)
    assert search.reason is None
    assert search.seq <= limit < search.beyond
    assert search.beyond - search.seq <= max(1, (1 << (search.seq.bit_length() - 1)) // 16)
    assert len(tried) < 32


@pytest.mark.parametrize(
    ("grid", "limit", "longest", "end"),
    [
        ((4096,), 0, LONGEST, (None, 1, "no length fits")),
        ((1024,), 1 << 60, LONGEST, (LONGEST, None, f"{LONGEST} tokens still fit")),
        ((65536,), 1 << 60, 160 * 1024, (163840, None, "163840 tokens still fit")),  # a model's positions
    ],
)
def test_search_ends_if_no_or_every_length_fits(grid, limit, longest, end):
    tried, search = run_search(limit, *grid, longest=longest)
    assert (search.seq, search.beyond, search.reason) == end
    assert max(tried) <= longest


REFUSED = "topk must be below seq"


@pytest.mark.parametrize(
    ("grid", "following", "reason"),
    [
        ({1024: True, 2048: None}, None, REFUSED),
        ({1024: None}, None, REFUSED),
        ({1024: None, 4096: True, 8192: False}, 6144, None),
        ({2048: True, 1024: False}, None, "1024 does not fit, though 2048 does"),
    ],
)
def test_a_length_without_a_plan_ends_the_search_unless_longer_ones_fit(grid, following, reason):
    search = LengthSearch()
    for length, fits in grid.items():
        search.record(length, fits=fits, why=REFUSED if fits is None else None)
    assert (search.next_length(), search.reason) == (following, reason)
