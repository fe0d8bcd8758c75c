"""A table in Markdown; its cells are escaped by whoever knows what they are."""

from collections.abc import Iterable, Sequence


def markdown_table(titles: Sequence[str], rows: Iterable[Sequence[str]], rules: Sequence[str] = ()) -> str:
    """The lines of a table. `rules` are `---:` for columns to the right, else `---`, which is the default."""
    lines = (titles, rules or ["---"] * len(titles), *rows)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
