"""The figures of a claim, from their YAML."""

from collections.abc import Mapping

from harness.claims.expression import Expression
from harness.claims.functions import COLUMNS, functions_in
from harness.claims.model import Figure
from harness.claims.yaml_fields import Reader, expression, fields, flag, share, text
from harness.core.errors import UsageError
from harness.sweep.yaml.nodes import Listing, Node, items


def figures_of(node: Node, name: str) -> tuple[Figure, ...]:
    """The figures of a claim, in order; UsageError for one that mixes its columns or is there twice."""
    figures: dict[str, Figure] = {}
    for item in items(node, name):
        figure = Figure(where=item.where, **fields(item, "a figure", _READERS, required=("name",)))
        _refuse_mixtures(figure)
        if figure.name in figures:
            raise UsageError(f"{figure.where}: two figures of a claim are called {figure.name}")
        figures[figure.name] = figure
    return tuple(figures.values())


def functions_of(figure: Figure) -> frozenset[str]:
    """Every function that any of its expressions depends on."""
    return frozenset().union(*map(functions_in, figure.expressions()))


def _ends(node: Node, name: str) -> tuple[Expression, ...]:
    """The published value of a figure: a number, or both ends of a range."""
    if not isinstance(node, Listing):
        return (expression(node, name),)
    if len(node.items) != 2:
        raise UsageError(f"{node.where}: published is a number, or both ends of a range: [50, 800]")
    return tuple(expression(item, name) for item in node.items)


_READERS: Mapping[str, Reader] = {
    **dict.fromkeys(("name", "unit", "why"), text),
    **dict.fromkeys(("follows", "found", "at_most", "at_least"), expression),
    **dict.fromkeys(("premise", "each"), flag),
    "published": _ends,
    "within": share,
}


def _refuse_mixtures(figure: Figure) -> None:
    """UsageError for a figure whose columns do not fit their names or each other."""
    what = f"{figure.where}: figure {figure.name}"
    if not figure.sides:
        raise UsageError(f"{what} has neither published, follows nor found")
    if figure.bounded and figure.compared:
        raise UsageError(f"{what}: a bound is of one of published, follows and found, not of several")
    if figure.premise and not figure.compared:
        raise UsageError(f"{what}: a premise is compared; give what it has to be and what it is")
    if figure.within and not figure.compared:
        raise UsageError(f"{what}: within is for figures that are compared")
    if figure.within and not figure.why:
        raise UsageError(f"{what}: a tolerance needs its reason (why: …)")
    for column in (*figure.published, figure.follows):
        functions = functions_in(column) - set(COLUMNS) if column else ()
        if functions:
            raise UsageError(
                f"{what}: {min(functions)}(…) is found here, and is neither published nor follows from it"
            )
