"""The rules of EPM-2.7 on recorded dialogues, and the guard against leaks."""

from __future__ import annotations

import numpy as np
import pytest
from trace_toys import make

from planner.training.traces.demonstrator import ExplorationRule
from planner.training.traces.guard import LeakError, check_is_training, evaluated, wording
from planner.training.traces.record import Trace
from planner.training.traces.rules import (
    TraceRules,
    improved,
    with_invented,
    without_idle,
    without_repeats,
)
from planner.world.episode import Episode
from planner.world.house_checks import load_house
from planner.world.skill import SUCCESS_TEXT

PICKING = [
    {
        "call": "ExploreFurniture[Object.100]",
        "result": SUCCESS_TEXT,
        "deltas": ["Add Object.101: cup with the Object.100"],
    },
    {
        "call": "Navigate[Object.101]",
        "result": SUCCESS_TEXT,
        "deltas": ["Add Object.102: bowl with the Object.100"],
    },
    {
        "call": "Pick[Object.101]",
        "result": SUCCESS_TEXT,
        "deltas": ["Update Object.101 (picked): cup"],
    },
    {"call": "Navigate[Object.102]", "result": SUCCESS_TEXT},
    {"call": "Done[]"},
]


def calls(trace: Trace) -> list[str]:
    return [turn.call for turn in trace.turns]


def test_shares_of_explorations_in_vain() -> None:
    assert ExplorationRule(3, 2.0).shares() == pytest.approx([0.390, 0.260, 0.195, 0.156], abs=1e-3)
    assert ExplorationRule(3, uniform=True).shares() == [0.25] * 4


def test_an_invented_instance_is_tried_before_the_true_pick_and_numbers_move_up() -> None:
    trace = with_invented(make(turns=PICKING), 1.0, np.random.default_rng(1))
    assert calls(trace) == [
        "ExploreFurniture[Object.100]",
        "Navigate[Object.102]",
        "Pick[Object.102]",
        "Navigate[Object.101]",
        "Pick[Object.101]",
        "Navigate[Object.103]",
        "Done[]",
    ]
    told = [turn.deltas for turn in trace.turns]
    assert told[0][-1] == "Add Object.102: cup with the Object.100"
    assert told[2] == ("Remove Object.102",)
    assert told[3] == ("Add Object.103: bowl with the Object.100",)
    assert not trace.turns[2].succeeded
    assert "No object found near the target position" in trace.turns[2].result
    assert trace.provenance.invented == 1


def test_about_one_pick_in_ten_gets_an_invented_try() -> None:
    rng = np.random.default_rng(3)
    trace = make(turns=PICKING)
    count = sum(with_invented(trace, 0.1, rng).provenance.invented for _ in range(2000))
    assert 150 <= count <= 250


def test_a_team_shares_one_memory_so_nothing_is_invented_in_one_dialogue() -> None:
    trace = make(turns=PICKING, team=["agent_0", "agent_1"])
    assert with_invented(trace, 1.0, np.random.default_rng(1)) == trace


def test_repeats_are_dropped_if_nothing_was_told() -> None:
    one = {"call": "Navigate[Object.100]", "result": SUCCESS_TEXT}
    told = {**one, "deltas": ["Remove Object.101"]}
    trace = without_repeats(make(turns=[one, one, told, one, {"call": "Done[]"}]))
    assert calls(trace) == [*["Navigate[Object.100]"] * 3, "Done[]"]
    assert trace.provenance.dropped == 1


def test_what_serves_nothing_or_failed_is_not_imitated() -> None:
    place = "Place[Object.101, on, Object.100, None, None]"
    turns = [
        {"call": place, "result": SUCCESS_TEXT},
        {"call": "Pick[Object.101]", "result": "Unexpected failure! - Too far."},
        {"call": place, "result": SUCCESS_TEXT, "gain": 1.0},
        {"call": "Done[]"},
    ]
    assert [turn.learned for turn in without_idle(make(turns=turns)).turns] == [
        False,
        False,
        True,
        True,
    ]


def test_runs_that_failed_are_kept_only_on_request() -> None:
    rng = np.random.default_rng(1)
    failed = make(reward=0)
    assert improved([failed, make()], TraceRules(), rng) == []
    assert len(improved([failed], TraceRules(keep_failed=True), rng)) == 1


def episode(**changed: object) -> Episode:
    document: dict[str, object] = {
        "version": 1,
        "episode_id": "own",
        "house": "train_0",
        "split": "train",
        "instruction": "Bring the cup to the table.",
        "agents": [{"uid": "agent_0", "kind": "robot"}],
        **changed,
    }
    return Episode.model_validate(document)


def test_what_planners_are_evaluated_on_is_refused() -> None:
    train, heldout = load_house("train_0"), load_house("heldout_0")
    check_is_training(episode(), train)
    _, episodes, _ = evaluated()
    told = "Put the toy train on the bench while I fill the dog bowl"
    for one, house, reason in (
        (episode(split="val"), train, "its split is val"),
        (episode(), heldout, "evaluated in the house heldout_0"),
        (episode(episode_id=sorted(episodes)[0]), train, "an episode of a suite"),
    ):
        with pytest.raises(LeakError, match=reason):
            check_is_training(one, house)
    assert wording(f"  {told.upper()}!") == wording(told)


def test_the_wording_of_an_evaluated_instruction_is_refused() -> None:
    _, _, wordings = evaluated()
    text = sorted(wordings)[0].upper() + "!"
    with pytest.raises(LeakError, match="its instruction is one of a suite"):
        check_is_training(episode(instruction=text), load_house("train_0"))
