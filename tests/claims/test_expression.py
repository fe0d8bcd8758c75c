import warnings

import pytest

from harness.claims.expression import FunctionCall, parse


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2 * 3", 7),
        ("-(2 - 5)", 3),
        ("2 ** 10", 1024),
        ("0.5 ** 1e6 + 1 ** 9 ** 9", 1),
        ("128Ki", 131072),
        ("1.5Mi", 1572864),
        ("1.3Mi", 1363148.8),  # an amount of memory need not be whole
        ("1_024Ki", 1048576),
        ("2Gi / 1Gi", 2),
        ("131_072", 131072),
        ("2.74e11", 2.74e11),
        ("1 < 2 <= 2", True),
        ("3 != 3", False),
        ("true and not false", True),
        ("false or false", False),
        ("'a' == 'a'", True),
        ("max(1, 2) + floor(2.9) + ceil(0.1)", 5),
        ("log2(8) + sqrt(4) + abs(-1)", 6),
    ],
)
def test_what_arithmetic_comes_to(text, value):
    assert parse(text).value({}) == value


def test_integers_stay_exact():
    assert parse("1 * 1024 * 2048 * 131072").value({}) == 274877906944
    assert type(parse("128Ki * 2").value({})) is int


TOO_MUCH = {
    "1" * 601: "at most",
    "(" * 200 + "1" + ")" * 200 + "+" * 300: "deeply|at most|not arithmetic",
    **dict.fromkeys(["-" * 500 + "1", "+".join("1" * 250)], "deeply|at most"),
    **dict.fromkeys(["f(" * 60 + "1" + ")" * 60, "not " * 100 + "true"], "deeply|at most"),
}


@pytest.mark.parametrize(("text", "why"), TOO_MUCH.items())
def test_what_is_deep_or_long_is_refused_at_once(text, why):
    with pytest.raises(ValueError, match=why):
        parse(text)


def test_names_have_values_and_a_typo_the_nearest():
    expression = parse("rows * seq")
    assert expression.names() == {"rows", "seq"}
    assert expression.value({"rows": 2, "seq": 3}) == 6
    with pytest.raises(ValueError, match='unknown name "seq"; nearest: "sequ"'):
        expression.value({"rows": 2, "sequ": 3})


def test_calls_are_listed_with_their_arguments_worked_out_and_answered():
    expression = parse('f("a/b", seq=n / 2) / max(1, g("c"))')
    assert expression.functions() == {"f", "g"}
    calls = sorted(expression.calls({"n": 8}), key=lambda one: one.name)
    assert calls == [FunctionCall("f", ("a/b",), {"seq": 4.0}), FunctionCall("g", ("c",), {})]
    told = []

    def answer(name, arguments, keywords):
        told.append((name, arguments, dict(keywords)))
        return 6

    assert expression.value({"n": 8}, answer) == 1
    assert told == [("f", ("a/b",), {"seq": 4.0}), ("g", ("c",), {})]


def test_sizes_inside_quotes_are_left_alone():
    assert list(parse('f("64Ki")').calls({})) == [FunctionCall("f", ("64Ki",), {})]


NO_ARITHMETIC = (
    '__import__("os").system("true")', "(1).__class__", "a.b", "a[0]", "[1, 2]", "(1, 2)", "{1: 2}",
    "lambda: 1", "[x for x in y]", "1 if a else 2", "f(*a)", "f(**a)", "f()()", "x := 1", "1 // 2", "1 % 2",
    "1 << 9", "1 in a", "a is b", "~1", "1j", "None", "...", "b'a'", "f'{a}'", "1 +", "",
    "import os", "a = 1",
)  # fmt: skip


@pytest.mark.parametrize("text", NO_ARITHMETIC)
def test_whatever_is_no_arithmetic_is_refused_unread(text):
    with pytest.raises(ValueError, match="is not arithmetic"):
        parse(text)


def test_a_name_of_python_is_a_name_like_any_other():
    expression = parse('__import__("os")')
    assert expression.functions() == {"__import__"}
    with pytest.raises(ValueError, match=r"__import__\(…\) cannot stand here"):
        expression.value({})


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("1e999", "too large"), ("1" + "0" * 301, "too large"),
        ("9**9**9", "too large"), ("9" * 400 + "Ti", "too large"), ("(10**64)**64", "too large"),
        ("1e299 * 1e299", "too large"), ("exp(1000)", "too large"),
        ("1 / 0", "divides by zero"), ("0 ** -1", "divides by zero"), ("(-8) ** 0.5", "no real number"),
        ("log(0)", "domain"), ("sqrt(-1)", "domain"), ("max()", "max"), ("log(1, 2, 3)", "log"),
        ("abs(x=1)", "abs"), ("'a' < 1", "not supported"),
    ],
)  # fmt: skip
def test_what_comes_to_nothing_says_why(text, why):
    with pytest.raises(ValueError, match=why):
        parse(text).value({})


def test_no_call_stands_in_the_arguments_of_another():
    with pytest.raises(ValueError, match=r"g\(…\) cannot stand here"):
        list(parse('f(g("a"))').calls({}))


@pytest.mark.parametrize("text", ["1if 1 else 2", r"'\d'.real"])
def test_python_has_nothing_to_say_about_what_is_refused(text):
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        with pytest.raises(ValueError, match="is not arithmetic"):
            parse(text)
    assert heard == []
