"""An expression's arithmetic for the reader: numbers in the place of names and calls."""

import ast
import copy
import re
from collections.abc import Callable, Mapping

from harness.catalog.accelerators import HOST
from harness.claims.expression import MATHS, Expression, Value
from harness.claims.model import VARIES

LARGE = 1e9  # literals from here on keep an exponent
LONG = 10**6  # whole ones from here on are grouped
_HOST = re.compile(rf"""["']{HOST}["']|\b(trace_bytes|fact)\(""")
Evaluate = Callable[[Expression, Mapping[str, Value]], Value]


def arithmetic_text(expression: Expression, names: Mapping[str, Value], evaluate: Evaluate) -> str:
    """`dense / nsa` → `7.61 / 1.73`; empty where there is no operation to follow."""
    filled = _Substitution(names, evaluate).visit(copy.deepcopy(expression.tree))
    if isinstance(filled, ast.Name | ast.Constant):
        return ""
    return ast.unparse(filled).replace(" ** ", "^").replace(" * ", " · ")


class _Substitution(ast.NodeTransformer):
    """Puts values in the place of names and calls; mathematics stays as it is written."""

    def __init__(self, names: Mapping[str, Value], evaluate: Evaluate) -> None:
        self.names, self.evaluate = names, evaluate

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return _name_node(self.names[node.id]) if node.id in self.names else node

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        """`1e12` stays that, and is not written out."""
        value = node.value
        if isinstance(value, float) and abs(value) >= LARGE and float(f"{value:.6g}") == value:
            return ast.Name(short_exponent(f"{value:.6g}"))
        if isinstance(value, int) and value >= LONG:
            return _name_node(value)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if isinstance(node.func, ast.Name) and node.func.id not in MATHS:
            value = self.evaluate(Expression("", node), self.names)
            return _name_node(value, mark=VARIES if varies(ast.unparse(node)) else "")
        node.args = [self.visit(argument) for argument in node.args]
        return node


def varies(text: str) -> bool:
    """Whether an expression depends on the host's compiler, and so may differ on another processor."""
    return _HOST.search(text) is not None


def _name_node(value: Value, mark: str = "") -> ast.Name:
    """A name node that is unparsed to a value's usual notation: `549 755 813 888`, `7.61`, `true`."""
    if isinstance(value, bool):
        return ast.Name("true" if value else "false")
    if isinstance(value, str):
        return ast.Name(short_hash(value))
    whole = value == int(value) and abs(value) < 1e15
    text = grouped_digits(value) if whole else short_exponent(f"{value:.6g}")
    return ast.Name(f"{mark}{text}")


def short_hash(text: str) -> str:
    """The beginning of a program's hash; any other word as it is."""
    return f"{text[:15]}…" if text.startswith("sha256:") else text


def grouped_digits(whole: float) -> str:
    """A whole number with narrow spaces between thousands."""
    return f"{whole:,.0f}".replace(",", "\u202f")


def short_exponent(text: str) -> str:
    """A number's text whose exponent has no padding: `1e9`."""
    mantissa, e, exponent = text.partition("e")
    return f"{mantissa}e{int(exponent)}" if e else mantissa
