"""What `--through` understands, and what it says of the rest."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.evaluation.progress import Mode
from planner.planning.planner_model import Control
from planner.replay.through.request import (
    EvaluatorRequest,
    MemoryRequest,
    PlannerRequest,
    read_request,
)
from planner.world.errors import PlannerError

NAMES = ["memory", "planner", "evaluator", "model", "seed", "control", "update_period", "scoring"]
VALUES = ["", "learned", "privileged", "react", "expert", "3", "-1", "1e999", "nan", "strict", ":="]
WORDS = st.one_of(
    st.text(max_size=20),
    st.builds("{}:={}".format, st.sampled_from(NAMES), st.sampled_from(VALUES) | st.text()),
)


def test_the_parts_are_read() -> None:
    memory, words = read_request(["memory:=vlm", "model:=m", "model_url:=http://h/v1"])
    assert isinstance(memory, MemoryRequest)
    assert (memory.updater, memory.model.model, memory.model.url) == ("vlm", "m", "http://h/v1")
    assert words == {"memory": "vlm", "model": "m", "model_url": "http://h/v1"}
    planner, _ = read_request(["planner:=react", "control:=centralized", "seed:=7"])
    assert isinstance(planner, PlannerRequest)
    assert (planner.choice.name, planner.seed) == ("react", 7)
    assert planner.choice.axes.control is Control.CENTRALIZED
    assert read_request(["evaluator"])[0] == EvaluatorRequest()
    assert read_request(["evaluator", "scoring:=compat"])[0] == EvaluatorRequest(Mode.PUBLISHED)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ([], "name one part"),
        (["memory"], "expected NAME:=VALUE"),
        (["memory:=learned", "evaluator"], "not memory and evaluator"),
        (["memory:=clairvoyant"], "expected one of none, learned"),
        (["memory:=learned", "memory:=vlm"], "given twice"),
        (["memory:=learned", "seed:=1"], "seed: is not an option of memory"),
        (["memory:=learned", "update_period:=nan"], "--through update_period: expected a finite"),
        (["memory:=vlm", "model_timeout:=0"], "--through model_timeout: 0.0 is less than 0.1"),
        (["planner:=react", "memory_source:=x"], "--through memory_source: expected one of deltas"),
        (["planner:=react", "seed:=-1"], "expected a whole number"),
        (["planner:=tour"], "expected one of .*expert, .*words"),
        (["evaluator:=yes"], "takes no value"),
        (["evaluator", "model:=m"], "not an option of evaluator"),
    ],
)
def test_what_is_not_understood_is_said(words: list[str], reason: str) -> None:
    with pytest.raises(PlannerError, match=reason):
        read_request(words)


@given(st.lists(WORDS, max_size=4))
def test_any_words_are_read_or_refused(words: list[str]) -> None:
    try:
        request, given_words = read_request(words)
    except PlannerError as error:
        reason = str(error)
        request, given_words = None, {}
    if request is None:
        assert reason.startswith("--through")
        return
    assert isinstance(request, MemoryRequest | PlannerRequest | EvaluatorRequest)
    assert len(given_words) == len(words)
