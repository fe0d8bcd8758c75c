import pytest

from harness.run.compile.max_seq import LONGEST, Search


def run_search(limit, *grid):
    """(lengths tried, the search at its end) where what is at most `limit` long fits."""
    search, tried = Search(), []
    for length in grid:
        search.tell(length, fits=length <= limit)
    while (length := search.next()) is not None:
        assert length not in tried
        tried.append(length)
        search.tell(length, fits=length <= limit)
    return tried, search


@pytest.mark.parametrize("limit", [1, 5, 1000, 1024, 1025, 30_000, 100_000, 3_000_001])
@pytest.mark.parametrize("grid", [(1024,), (256, 4096), (1, 2), (65536,)], ids=str)
def test_the_gap_closes_to_a_sixteenth_of_an_octave(limit, grid):
    tried, search = run_search(limit, *grid)
    assert search.reason is None
    assert search.seq <= limit < search.beyond
    assert search.beyond - search.seq <= max(1, (1 << (search.seq.bit_length() - 1)) // 16)
    assert len(tried) < 32


def test_where_nothing_fits_it_says_so():
    _, search = run_search(0, 4096)
    assert (search.seq, search.beyond, search.reason) == (None, 1, "no length fits")


def test_where_everything_fits_it_stops_somewhere():
    tried, search = run_search(1 << 60, 1024)
    assert max(tried) == search.seq == LONGEST
    assert (search.beyond, search.reason) == (None, f"{LONGEST} tokens still fit")


def test_a_length_without_a_plan_ends_the_search():
    search = Search()
    search.tell(1024, fits=True)
    search.tell(2048, fits=None, why="topk must be below seq")
    assert (search.next(), search.reason) == (None, "topk must be below seq")


def test_what_fits_beyond_what_does_not_is_no_answer():
    search = Search()
    search.tell(2048, fits=True)
    search.tell(1024, fits=False)
    assert search.next() is None
    assert search.reason == "1024 does not fit, though 2048 does"


def test_a_length_of_the_grid_that_is_refused_does_not_end_the_search():
    search = Search()
    search.tell(1024, fits=None, why="topk must be below seq")
    search.tell(4096, fits=True)
    search.tell(8192, fits=False)
    assert search.next() == 6144
    assert search.reason is None


def test_where_every_length_is_refused_it_says_why():
    search = Search()
    search.tell(1024, fits=None, why="topk must be below seq")
    assert (search.next(), search.reason) == (None, "topk must be below seq")
