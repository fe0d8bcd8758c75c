"""Arithmetic expressions in data files: `batch * rows * 128Ki`, `f("a/b", topk=512) > 2`.

They are parsed with Python's own parser and never executed: only the node types, operators and functions
listed here are accepted, and sizes are bounded, so that no file can hang its reader or run code.
"""

from __future__ import annotations

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
CONSTANTS: Mapping[str, Value] = {"true": True, "false": False, "True": True, "False": False}

_SIZES = re.compile(r'"[^"]*"|\'[^\']*\'|(?<![\w.])(\d[\d_]*(?:\.\d+)?(?:Ki|Mi|Gi|Ti))\b')
_ARITHMETIC: Mapping[type, Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_ORDER: Mapping[type, Callable[[float, float], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_SIGNS: Mapping[type, Callable[[float], float]] = {ast.USub: operator.neg, ast.UAdd: operator.pos}
_EQUAL = (ast.Eq, ast.NotEq)
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
_GRAMMAR = (
    ast.Name,
    ast.BoolOp,
    ast.keyword,
    ast.Load,
    ast.operator,
    ast.unaryop,
    ast.cmpop,
    ast.boolop,
)


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

    def quoted(self) -> Iterator[tuple[str, tuple[str, ...]]]:
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
    """Parse an expression. ValueError names the part that is not accepted."""
    if len(text) > LONGEST:
        raise ValueError(f"an expression has at most {LONGEST} characters, not {len(text)}")
    plain = _SIZES.sub(lambda size: _count(size[1]) if size[1] else size[0], text.strip())
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of `1if`: it is about to be refused, or means what it says
            tree = ast.parse(plain, mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise ValueError(f'"{_short(text)}" is not arithmetic') from None
    _refuse_deep(tree)
    for node in ast.walk(tree):
        _refuse_foreign(node)
    return Expression(text.strip(), tree)


def _count(size: str) -> str:
    """`64Ki` → `65536`; `1.3Mi`, an amount of memory rather than a count, → `1363148.8`."""
    number = float(size[:-2].replace("_", "")) * parse_count(f"1{size[-2:]}")
    if math.isinf(number):
        raise ValueError("a number grows too large to be a figure")
    return str(int(number)) if number == int(number) else repr(number)


def _refuse_deep(tree: ast.AST) -> None:
    level: list[ast.AST] = [tree]
    for _ in range(DEEPEST):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
    if level:
        raise ValueError("an expression is nested too deeply; give its parts figures of their own")


def _refuse_foreign(node: ast.AST) -> None:
    if isinstance(node, ast.Call):
        if not isinstance(node.func, ast.Name) or any(word.arg is None for word in node.keywords):
            raise ValueError(f'"{_short(ast.unparse(node))}" is not a call of a named function')
    elif isinstance(node, ast.Constant):
        if not isinstance(node.value, int | float | str):
            _refuse(f'"{_short(ast.unparse(node))}" is neither a number nor a word')
        if not isinstance(node.value, str):
            _refuse_huge(node.value)
    elif isinstance(node, ast.BinOp | ast.UnaryOp):
        if type(node.op) not in {*_ARITHMETIC, ast.Pow, *_SIGNS, ast.Not}:
            raise ValueError(f'"{_short(ast.unparse(node))}" is not arithmetic; use + - * / **')
    elif isinstance(node, ast.Compare):
        if any(type(op) not in {*_ORDER, *_EQUAL} for op in node.ops):
            raise ValueError(f'"{_short(ast.unparse(node))}" is no comparison; use == != < <= > >=')
    elif not isinstance(node, _GRAMMAR):
        _refuse(f'"{_short(ast.unparse(node))}" is not arithmetic')


def _refuse(why: str) -> NoReturn:
    raise ValueError(why)


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}…"


def _name(node: ast.Call) -> str:
    return node.func.id if isinstance(node.func, ast.Name) else ""


def _no_function(name: str, _: tuple[Value, ...], _keywords: Mapping[str, Value]) -> Value:
    raise ValueError(f"{name}(…) cannot stand here")


def _value(node: ast.expr, names: Mapping[str, Value], function: Function) -> Value:
    match node:
        case ast.Constant(value=bool() | int() | float() | str() as value):
            return value
        case ast.Name(id=name):
            if name in names:
                return names[name]
            if name in CONSTANTS:
                return CONSTANTS[name]
            raise ValueError(f'unknown name "{name}"{nearest(name, names)}')
        case ast.Call():
            call = _evaluate_call(node, names, function)
            if call.name in MATHS:
                return _calculate(call)
            return function(call.name, call.arguments, call.keywords)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return not _truth(_value(operand, names, function))
        case ast.UnaryOp(op=op, operand=operand):
            return _SIGNS[type(op)](_number(_value(operand, names, function)))
        case ast.BinOp(left=left, op=op, right=right):
            return _combine(op, _value(left, names, function), _value(right, names, function))
        case ast.BoolOp(op=op, values=values):
            truths = [_truth(_value(value, names, function)) for value in values]
            return all(truths) if isinstance(op, ast.And) else any(truths)
        case ast.Compare(left=left, ops=ops, comparators=others):
            sides = [_value(side, names, function) for side in (left, *others)]
            return all(_compare(op, a, b) for op, a, b in zip(ops, sides, sides[1:], strict=False))
        case _:
            raise ValueError(f'"{_short(ast.unparse(node))}" is not arithmetic')


def _evaluate_call(node: ast.Call, names: Mapping[str, Value], function: Function) -> FunctionCall:
    arguments = tuple(_value(argument, names, function) for argument in node.args)
    keywords = {word.arg: _value(word.value, names, function) for word in node.keywords if word.arg}
    return FunctionCall(_name(node), arguments, keywords)


def _calculate(call: FunctionCall) -> Value:
    numbers = [_number(argument) for argument in call.arguments]
    try:
        return _refuse_huge(_MATHS[call.name](*numbers, **call.keywords))
    except (TypeError, ArithmeticError, ValueError) as error:
        raise ValueError(f"{call.name}(…): {error}") from None


def _combine(op: ast.operator, left: Value, right: Value) -> float:
    a, b = _number(left), _number(right)
    if isinstance(op, ast.Pow):
        return _power(a, b)
    if isinstance(op, ast.Div) and not b:
        raise ValueError("it divides by zero")
    return _refuse_huge(_ARITHMETIC[type(op)](a, b))


def _power(base: float, exponent: float) -> float:
    if base <= 0 and exponent != int(exponent):
        raise ValueError(f"{base} ** {exponent} is no real number")
    if not base and exponent < 0:
        raise ValueError("it divides by zero")
    if base and abs(exponent * math.log10(abs(base))) > math.log10(LARGEST):
        raise ValueError("a power is too large, or too small, to be a figure")
    if abs(exponent) > LARGEST ** (1 / 50):  # of 1 and −1: whatever it is, nobody means it
        raise ValueError("an exponent is too large to be meant")
    return _refuse_huge(base**exponent)


def _refuse_huge(number: float) -> float:
    if not abs(number) <= LARGEST:
        raise ValueError("a number grows too large to be a figure")
    return number


def _compare(op: ast.cmpop, left: Value, right: Value) -> bool:
    if isinstance(op, _EQUAL):
        if isinstance(left, str) != isinstance(right, str):
            raise ValueError(f"{left} and {right} cannot be equal: one is a word, the other is not")
        return (left == right) == isinstance(op, ast.Eq)
    return _ORDER[type(op)](_number(left), _number(right))


def _number(value: Value) -> float:
    if isinstance(value, bool | str):
        _refuse(f"{value} is not a number")
    return _refuse_huge(value)


def _truth(value: Value) -> bool:
    if not isinstance(value, bool):
        _refuse(f"{value} is neither true nor false")
    return value
