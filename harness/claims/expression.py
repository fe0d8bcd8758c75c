"""Arithmetic expressions in data files: `batch * rows * 128Ki`, `f("a/b", topk=512) > 2`.

They are parsed with Python's own parser and never executed: only the node types, operators and functions
listed here are accepted, and sizes are bounded, so that no file can hang its reader or run code.
"""

import ast
import math
import operator
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

from harness.core.errors import nearest
from harness.core.units import parse_count

Value = int | float | bool | str
Function = Callable[[str, tuple[Value, ...], Mapping[str, Value]], Value]

LONGEST, DEEPEST = 600, 30  # characters, and levels of nesting
LARGEST = 1e300
EXACT_EXPONENT = 1000
TOO_LARGE = "a number grows too large to be a figure"
CONSTANTS: Mapping[str, Value] = {"true": True, "false": False, "True": True, "False": False}

_SIZES = re.compile(r'"[^"]*"|\'[^\']*\'|(?<![\w.])(\d[\d_]*(?:\.\d+)?(?:Ki|Mi|Gi|Ti))\b')
_OPERATORS: Mapping[type, Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_MATHS: Mapping[str, Callable[..., Any]] = {
    "abs": abs,
    "ceil": math.ceil,
    "exp": math.exp,
    "floor": math.floor,
    "log": math.log,
    "log2": math.log2,
    "max": max,
    "min": min,
    "sqrt": math.sqrt,
}
MATHS = frozenset(_MATHS)
_EQUAL = (ast.Eq, ast.NotEq)
_GRAMMAR = (ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.Call, ast.keyword, ast.Name, ast.Constant)
_SIGNS = (ast.Load, ast.Not, ast.And, ast.Or, *_EQUAL, *_OPERATORS)


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
        functions = {node.func for node in ast.walk(self.tree) if isinstance(node, ast.Call)}
        identifiers = {n.id for n in ast.walk(self.tree) if isinstance(n, ast.Name) and n not in functions}
        return frozenset(identifiers - CONSTANTS.keys())

    def functions(self) -> frozenset[str]:
        """Every function called, except the mathematical ones."""
        return frozenset(_name(node) for node in self._calls()) - MATHS

    def quoted_arguments(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Every call as (its name, its quoted arguments)."""
        for node in self._calls():
            values = [argument.value for argument in node.args if isinstance(argument, ast.Constant)]
            yield _name(node), tuple(value for value in values if isinstance(value, str))

    def calls(self, names: Mapping[str, Value]) -> Iterator[FunctionCall]:
        """Every call but mathematical ones. ValueError where one is in another's arguments."""
        for node in self._calls():
            if _name(node) not in MATHS:
                yield _evaluate_call(node, names, _no_function)

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
        raise ValueError(
            f'"{_short(text)}" is not arithmetic; use numbers, words in quotes, names and functions, '
            "+ - * / **, == != < <= > >=, and, or, not"
        )
    _refuse_deep(tree)
    return Expression(text.strip(), tree)


def _count(size: str) -> str:
    """`64Ki` → `65536`; `1.3Mi`, an amount of memory rather than a count, → `1363148.8`."""
    number = _refuse_huge(float(size[:-2].replace("_", "")) * parse_count(f"1{size[-2:]}"))
    return str(int(number)) if number == int(number) else repr(number)


def _is_accepted(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=function, keywords=keywords):
            return isinstance(function, ast.Name) and all(word.arg for word in keywords)
        case ast.Constant(value=value):
            return isinstance(value, int | float | str)
        case _:
            return isinstance(node, (*_GRAMMAR, *_SIGNS))


def _refuse_deep(tree: ast.AST) -> None:
    level: list[ast.AST] = [tree]
    for _ in range(DEEPEST):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
    if level:
        raise ValueError("an expression is nested too deeply; give its parts figures of their own")


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}…"


def _name(node: ast.Call) -> str:
    return node.func.id if isinstance(node.func, ast.Name) else ""


def _no_function(name: str, _: tuple[Value, ...], _keywords: Mapping[str, Value]) -> Value:
    raise ValueError(f"{name}(…) cannot stand here")


def _value(node: ast.expr, names: Mapping[str, Value], function: Function) -> Value:
    """Evaluate a node; `function` answers the calls that are not mathematical."""

    def value_of(inner: ast.expr) -> Value:
        return _value(inner, names, function)

    match node:
        case ast.Constant(value=bool() | int() | float() | str() as value):
            return value if isinstance(value, bool | str) else _refuse_huge(value)
        case ast.Name(id=name):
            if name not in names and name not in CONSTANTS:
                raise ValueError(f'unknown name "{name}"{nearest(name, names)}')
            return names[name] if name in names else CONSTANTS[name]
        case ast.Call():
            call = _evaluate_call(node, names, function)
            return (
                _mathematics(call)
                if call.name in MATHS
                else function(call.name, call.arguments, call.keywords)
            )
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return not _truth(value_of(operand))
        case ast.UnaryOp(op=op, operand=operand):
            return _calculate(_OPERATORS[type(op)], value_of(operand))
        case ast.BinOp(left=left, op=op, right=right):
            base, exponent = value_of(left), value_of(right)
            if isinstance(op, ast.Pow) and _number(exponent) > EXACT_EXPONENT:
                base = float(_number(base))  # whole numbers would grow for minutes before they are too large
            return _calculate(_OPERATORS[type(op)], base, exponent)
        case ast.BoolOp(op=op, values=values):
            truths = [_truth(value_of(value)) for value in values]
            return all(truths) if isinstance(op, ast.And) else any(truths)
        case ast.Compare(left=left, ops=ops, comparators=others):
            sides = [value_of(side) for side in (left, *others)]
            return all(_compare(op, a, b) for op, a, b in zip(ops, sides, sides[1:], strict=False))
        case _:
            raise ValueError(f'"{_short(ast.unparse(node))}" is not arithmetic')


def _evaluate_call(node: ast.Call, names: Mapping[str, Value], function: Function) -> FunctionCall:
    arguments = tuple(_value(argument, names, function) for argument in node.args)
    keywords = {word.arg: _value(word.value, names, function) for word in node.keywords if word.arg}
    return FunctionCall(_name(node), arguments, keywords)


def _mathematics(call: FunctionCall) -> Value:
    try:
        return _calculate(_MATHS[call.name], *call.arguments, **call.keywords)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{call.name}(…): {error}") from None


def _calculate(operation: Callable[..., Any], *sides: Value, **keywords: Value) -> Any:
    """The result for numbers, which no figure outgrows. ValueError where there is none."""
    try:
        result = operation(*map(_number, sides), **keywords)
    except ZeroDivisionError:
        raise ValueError("it divides by zero") from None
    except OverflowError:
        raise ValueError(TOO_LARGE) from None
    if isinstance(result, complex):
        _refuse(f"the root of {sides[0]} is no real number")
    return _refuse_huge(result)


def _refuse_huge(number: float) -> float:
    if not abs(number) <= LARGEST:
        raise ValueError(TOO_LARGE)
    return number


def _compare(op: ast.cmpop, left: Value, right: Value) -> bool:
    if not isinstance(op, _EQUAL):
        return _calculate(_OPERATORS[type(op)], left, right)
    if isinstance(left, str) != isinstance(right, str):
        raise ValueError(f"{left} and {right} cannot be equal: one is a word, the other is not")
    return (left == right) == isinstance(op, ast.Eq)


def _number(value: Value) -> float:
    if isinstance(value, bool | str):
        _refuse(f"{value} is not a number")
    return _refuse_huge(value)


def _truth(value: Value) -> bool:
    if not isinstance(value, bool):
        _refuse(f"{value} is neither true nor false")
    return value


def _refuse(why: str) -> NoReturn:
    raise ValueError(why)
