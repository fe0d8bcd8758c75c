"""Arithmetic expressions in data files: `batch * rows * 128Ki`, `f("a/b", topk=512) > 2`.

They are Python's own, less all that is no arithmetic: only the nodes, operators and functions listed here
are accepted, and evaluated without builtins.
"""

import ast
import copy
import math
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from harness.core.errors import nearest
from harness.core.static_figures import STATIC_FIGURES
from harness.core.units import parse_count

Value = int | float | bool | str
Function = Callable[[str, tuple[Value, ...], Mapping[str, Value]], Value]

LONGEST, DEEPEST = 600, 30  # characters, and levels of nesting
LARGEST = 1e300
EXACT_EXPONENT = 1000
TOO_LARGE = "a number grows too large to be a figure"
CONSTANTS: Mapping[str, Value] = {"true": True, "false": False, "True": True, "False": False}

_SIZES = re.compile(r'"[^"]*"|\'[^\']*\'|(?<![\w.])(\d[\d_]*(?:\.\d+)?(?:Ki|Mi|Gi|Ti))\b')
_MATHS: Mapping[str, Callable[..., Any]] = {
    **{name: getattr(math, name) for name in ("ceil", "exp", "floor", "log", "log2", "sqrt")},
    "abs": abs,
    "max": max,
    "min": min,
}
MATHS = frozenset(_MATHS)
_GRAMMAR = (
    *(ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.keyword, ast.Name, ast.Load),
    *(ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.USub, ast.UAdd, ast.Not, ast.And, ast.Or),
    *(ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE),
)
_POWER = " power"  # no name that a file could have


@dataclass(frozen=True)
class FunctionCall:
    """A function call of an expression, with its arguments evaluated."""

    name: str
    arguments: tuple[Value, ...]
    keywords: Mapping[str, Value] = field(default_factory=dict[str, Value])


@dataclass(frozen=True)
class Expression:
    """Text that :func:`parse` has understood."""

    text: str
    tree: ast.expr = field(compare=False, repr=False)

    def names(self) -> frozenset[str]:
        """Every name that needs a value."""
        functions = {node.func for node in self._calls()}
        identifiers = {n.id for n in ast.walk(self.tree) if isinstance(n, ast.Name) and n not in functions}
        return frozenset(identifiers - CONSTANTS.keys())

    def functions(self) -> frozenset[str]:
        """Every function called, except the mathematical ones."""
        return frozenset(map(_name, self._calls())) - MATHS

    def quoted_arguments(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Every call as (its name, its quoted arguments)."""
        for node in self._calls():
            values = [argument.value for argument in node.args if isinstance(argument, ast.Constant)]
            yield _name(node), tuple(value for value in values if isinstance(value, str))

    def calls(self, names: Mapping[str, Value]) -> Iterator[FunctionCall]:
        """Every call but mathematical ones. ValueError where one is in another's arguments."""
        for node in self._calls():
            if _name(node) not in MATHS:
                arguments = tuple(_value(argument, names, _no_function) for argument in node.args)
                keywords = {word.arg or "": _value(word.value, names, _no_function) for word in node.keywords}
                yield FunctionCall(_name(node), arguments, keywords)

    def value(self, names: Mapping[str, Value], function: Function | None = None) -> Value:
        """The expression's value; `function` answers calls. ValueError says why there is none."""
        return _value(self.tree, names, function or _no_function)

    def _calls(self) -> Iterator[ast.Call]:
        return (node for node in ast.walk(self.tree) if isinstance(node, ast.Call))


def parse(text: str) -> Expression:
    """Parse an expression. ValueError where it is not accepted."""
    if len(text) > LONGEST:
        raise ValueError(f"an expression has at most {LONGEST} characters, not {len(text)}")
    plain = _SIZES.sub(lambda size: _count(size[1]) if size[1] else size[0], text.strip())
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of `1if`: it is about to be refused, or means what it says
            tree = ast.parse(plain, mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        tree = None
    if tree is None or not all(map(_is_accepted, ast.walk(tree))):
        shown = text if len(text) <= 60 else f"{text[:57]}…"
        raise ValueError(
            f'"{shown}" is not arithmetic; use numbers, words in quotes, names and functions, '
            "+ - * / **, == != < <= > >=, and, or, not"
        )
    level: list[ast.AST] = [tree]
    for _ in range(DEEPEST):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
    if level:
        raise ValueError("an expression is nested too deeply; give its parts figures of their own")
    return Expression(text.strip(), tree)


def _count(size: str) -> str:
    """`64Ki` → `65536`; `1.3Mi`, an amount of memory rather than a count, → `1363148.8`."""
    number = float(size[:-2].replace("_", "")) * parse_count(f"1{size[-2:]}")
    if not number <= LARGEST:
        raise ValueError(TOO_LARGE)
    return str(int(number)) if number == int(number) else repr(number)


def _is_accepted(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=function, keywords=keywords):
            return isinstance(function, ast.Name) and all(word.arg for word in keywords)
        case ast.Constant(value=value):
            return isinstance(value, int | float | str)
        case _:
            return isinstance(node, _GRAMMAR)


def _name(node: ast.Call) -> str:
    return node.func.id if isinstance(node.func, ast.Name) else ""


def _no_function(name: str, _: tuple[Value, ...], _keywords: Mapping[str, Value]) -> Value:
    raise ValueError(f"{name}(…) cannot stand here")


def _value(node: ast.expr, names: Mapping[str, Value], function: Function) -> Value:
    """The value of a node. What `function` raises is handed on."""
    expression = Expression("", node)
    if unknown := sorted(expression.names() - names.keys()):
        raise ValueError(f'unknown name "{unknown[0]}"{nearest(unknown[0], names)}')
    called = {name: _answering(function, name) for name in expression.functions()}
    known = {**CONSTANTS, **names, **_MATHS, **called, _POWER: _power, "__builtins__": {}}
    program = ast.fix_missing_locations(ast.Expression(_Powers().visit(copy.deepcopy(node))))
    try:
        value = eval(compile(program, "<expression>", "eval"), known)  # noqa: S307 - nothing but arithmetic
    except ZeroDivisionError:
        raise ValueError("it divides by zero") from None
    except OverflowError:
        raise ValueError(TOO_LARGE) from None
    except TypeError as error:
        raise ValueError(f"{ast.unparse(node)}: {error}") from None
    if isinstance(value, complex):
        raise ValueError(f"{ast.unparse(node)} is no real number")  # noqa: TRY004 - of the file
    if not isinstance(value, str) and not abs(value) <= LARGEST:
        raise ValueError(TOO_LARGE)
    return value


def _answering(function: Function, name: str) -> Callable[..., Value]:
    return lambda *arguments, **keywords: function(name, arguments, keywords)


class _Powers(ast.NodeTransformer):
    """Puts a function in the place of `**`."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.op, ast.Pow):
            return ast.Call(ast.Name(_POWER, ast.Load()), [node.left, node.right], [])
        return node


def _power(base: float, exponent: float) -> Any:
    """The power; of whole numbers exact, but for those that would grow for minutes."""
    return (float(base) if exponent > EXACT_EXPONENT or abs(base) > LARGEST else base) ** exponent


# Without the compiler's estimates of time, which are no evidence of a time.
COMPILED = (*STATIC_FIGURES, "generated_code_bytes", "planned_bytes")
IDENTITY = ("program", "calls", "ops")
TRACED, FACT = "trace_bytes", "fact"
ANALYTIC = ("cost_flops", "cost_bytes", "cost_dense_flops")
JUDGED = ("status", "check")
DEVICE = ("memory", "peak", "bandwidth", "vector_ops")
COLUMNS = ("first_win", "crossover", "growth", "fit")
EXPONENT = "exponent"
TESTED = frozenset({*COMPILED, *IDENTITY, TRACED, FACT, *JUDGED})  # answered by compiling or running

NUMBER = "number"  # the kind of a numeric argument; every other kind is in quotes
ARGUMENTS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(COMPILED, ("implementation", "target")),
    "program": ("implementation", "target"),
    "calls": ("implementation", "target", "custom call"),
    "ops": ("implementation", "target", "opcode"),
    TRACED: ("implementation",),
    FACT: ("implementation", "name"),
    **dict.fromkeys(ANALYTIC, ("implementation",)),
    "status": ("implementation",),
    "check": ("family/check", "implementation"),
    **dict.fromkeys(DEVICE, ("target",)),
    "first_win": ("column", "column"),
    "crossover": ("column", "column"),
    "growth": ("column", NUMBER),
    "fit": ("column", NUMBER),
    EXPONENT: ("figure", "implementation", "target", NUMBER, NUMBER),
}
COST_EXPONENT = ("figure", "implementation", NUMBER, NUMBER)  # of a formula, which has no target
KEYWORDS: Mapping[str, tuple[str, ...]] = {"fit": ("start", "square")}  # of functions that compile nothing


def require_arguments(name: str, arguments: tuple[object, ...]) -> None:
    """ValueError where a call has other arguments than the function takes."""
    kinds = ARGUMENTS[name]
    if name == EXPONENT and arguments and str(arguments[0]) in ANALYTIC:
        kinds = COST_EXPONENT
    given = [isinstance(value, str) for value in arguments]
    if given != [kind != NUMBER for kind in kinds]:
        listed = ", ".join(kind if kind == NUMBER else f'"{kind}"' for kind in kinds)
        raise ValueError(f"{name}({listed}) was given {len(arguments)} arguments, or not of that kind")


def functions_in(expression: Expression) -> frozenset[str]:
    """Every function that a value depends on, including those in quoted columns and an exponent's figure."""
    functions = set(expression.functions())
    for name, words in expression.quoted_arguments():
        if name == EXPONENT:
            functions.update(words[:1])
        elif name in COLUMNS:
            for word in words:
                with suppress(ValueError):  # `needs` refuses a column that is not arithmetic
                    functions |= functions_in(parse(word))
    return frozenset(functions)
