"""The command's arguments, what it prints and the status that it ends with. No ROS."""

from __future__ import annotations

import argparse
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.instruct.cli import (
    CancelReason,
    InstructionEnd,
    InstructRequest,
    add_arguments,
    printer,
    read_request,
)
from planner.narrator.story import Event, Kind
from planner.world.errors import PlannerError
from planner.world.topics import InstructionCode


def order(*words: str) -> InstructRequest:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return read_request(parser.parse_args(list(words)), interactive=False)


def test_the_arguments_become_an_order() -> None:
    assert order("Sing.") == InstructRequest("Sing.")
    given_words = ["--agents", "agent_0, agent_1", "--answer", "a", "--answer", "b"]
    assert order("Sing.", *given_words, "--max-calls", "3", "--timeout", "5", "--wait", "1") == (
        InstructRequest("Sing.", ("agent_0", "agent_1"), ("a", "b"), 3, 5.0, 1.0)
    )


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["--max-calls", "-1"], "--max-calls"),
        (["--max-calls", str(2**32)], "--max-calls"),
        (["--timeout", "-1"], "--timeout"),
        (["--wait", "nan"], "--wait"),
        (["--wait", "inf"], "--wait"),
    ],
)
def test_a_number_that_cannot_be_is_named(words: list[str], name: str) -> None:
    with pytest.raises(PlannerError, match=name):
        order("Sing.", *words)


@pytest.mark.parametrize("code", InstructionCode)
@pytest.mark.parametrize("stopped", [None, *CancelReason])
def test_the_status_says_how_it_ended(code: InstructionCode, stopped: CancelReason | None) -> None:
    status = InstructionEnd(int(code), "", stopped=stopped).exit_status
    if code is InstructionCode.DONE:
        assert status == 0
    elif stopped is CancelReason.INTERRUPT:
        assert status == 130
    else:
        assert status == 1


@given(line=st.text(), text=st.text(), quiet=st.booleans())
def test_each_event_is_one_line_that_no_terminal_obeys(line: str, text: str, quiet: bool) -> None:
    said: list[str] = []
    for as_json in (False, True):
        show = printer(quiet=quiet, as_json=as_json, out=said.append)
        show(Event(Kind.END, 1.5, line, {"text": text}))
    assert all(words.isprintable() for words in said)
    assert json.loads(said[-1]) == {"kind": "end", "stamp_s": 1.5, "text": text}


def test_the_quiet_hear_of_questions_and_the_end_alone() -> None:
    said: list[str] = []
    show = printer(quiet=True, as_json=False, out=said.append)
    for kind in Kind:
        show(Event(kind, 0.0, f"about {kind}"))
    assert said == ["about question", "about verdict", "about end"]


def test_no_event_has_a_number_that_json_lacks() -> None:
    document = json.loads(Event(Kind.JUDGED, math.nan, "", {"percent_complete": 0.5}).as_json())
    assert document["stamp_s"] is None
