"""The reader of Python-like text: literals and calls as they are written, and nothing else."""

from __future__ import annotations

import pytest

from planner.episodes.evaluation_text import (
    MAX_CHARACTERS,
    PythonTextError,
    read_assignments,
    read_call,
)


def test_a_call_with_all_it_can_have() -> None:
    call = read_call(
        "is_next_to(['cup_0', \"it's\"], # a comment\n  (('bowl_0',),), [], number=-2,\n"
        "  l2_threshold=.5, is_same_b=True, x=None,)"
    )
    assert call.name == "is_next_to"
    assert call.arguments == (["cup_0", "it's"], [["bowl_0"]], [])
    assert call.named == {"number": -2, "l2_threshold": 0.5, "is_same_b": True, "x": None}


def test_assignments_in_their_order() -> None:
    found = read_assignments('a = """x\ny"""\n\n# b\nb = [\n  f(1),\n]\nc = "\\n\\"\\\\"\n')
    assert list(found) == ["a", "b", "c"]
    assert (found["a"], found["c"]) == ("x\ny", '\n"\\')


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "expected one call"),
        ("is_clean", "expected one call"),
        ("7", "expected one call"),
        ("f(x)", "expected a literal"),
        ("f(a.b)", "expected a literal"),
        ("f(1)(2)", "a plain name"),
        ("f(1 + 1)", "expected a literal"),
        ("f(1); g(2)", "expected one call"),
        ("f(a=1, a=2)", "given twice"),
        ("f(a=1, 2)", "positional argument follows keyword"),
        ("f(**{})", "** is not allowed"),
        ("f(*[])", "expected a literal"),
        ("f(-True)", "expected a literal"),
        ("f(1", "never closed"),
        ("f('a)", "unterminated"),
        ("f(" + "9" * 40 + ")", "not below 1e+15"),
        ("f(1e999)", "not below 1e+15"),
        ("f(" + "[" * 20 + "]" * 20 + ")", "nested too deeply"),
        ("f(" * 100_001, "longer than"),
        ("f(" + "-" * 150_000 + "1)", "cannot be parsed"),
        ("f(" + "1+" * 90_000 + "1)", "cannot be parsed"),
        ("True(1)", "a plain name"),
        ("f(1)\n\n)", "line 3: "),
    ],
)
def test_everything_else_is_refused_with_its_line(text: str, words: str) -> None:
    with pytest.raises(PythonTextError, match=r"line \d+|longer than") as caught:
        read_call(text)
    assert words in str(caught.value)


def test_a_name_is_assigned_once() -> None:
    with pytest.raises(PythonTextError, match="a is assigned twice"):
        read_assignments("a = 1\na = 2\n")
    with pytest.raises(PythonTextError, match="longer than"):
        read_assignments("#" * (MAX_CHARACTERS + 1))
