"""The rules of EPM-2.7 on recorded dialogues, and the guard against leaks."""

from __future__ import annotations

import numpy as np
import pytest
from trace_toys import make

from planner.training.traces.demonstrator import ExplorationRule
from planner.training.traces.folder import (
    LeakError,
    check_is_training,
    check_words,
    evaluated,
    wording,
)
from planner.training.traces.record import Trace
from planner.training.traces.rules import (
    TraceRules,
    improved,
    with_fewer_searches,
    with_invented,
    with_searches,
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


def test_calls_in_vain_are_left_out_but_not_the_way_to_what_is_used() -> None:
    vain = [
        {"call": f"{verb}[Object.{number}]", "result": SUCCESS_TEXT}
        for number in (103, 104)
        for verb in ("Navigate", "Open", "ExploreFurniture")
    ]
    way = [{"call": "Navigate[Object.100]", "result": SUCCESS_TEXT}]
    trace = make(turns=[*vain, *way, *PICKING])
    few = calls(with_fewer_searches(trace, 0))
    assert few == [turn["call"] for turn in (*way, *PICKING) if turn is not PICKING[3]]
    # Nothing is opened or explored from afar.
    assert calls(with_fewer_searches(trace, 1))[0] == "Navigate[Object.104]"
    assert with_fewer_searches(trace, 1).provenance.dropped == 3
    assert with_fewer_searches(trace, 9) == trace


def test_what_is_opened_to_get_at_a_thing_is_not_in_vain() -> None:
    opening = [
        {"call": f"{verb}[Object.100]", "result": SUCCESS_TEXT} for verb in ("Navigate", "Open")
    ]
    trace = make(turns=[PICKING[0], *opening, PICKING[2]])
    assert with_fewer_searches(trace, 0) == trace


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


ENTITIES = [
    "Object.100: table in kitchen_0",
    "Object.101: shelves in living_room_0",
    "Object.102: couch in living_room_0",
]


def _straight(added: str = "Add Object.103: cup with the Object.101") -> Trace:
    """A person goes straight to the cup, which the memory sees on the way."""
    turns = [
        {
            "call": "Navigate[Object.103]",
            "result": SUCCESS_TEXT,
            "deltas": [added, "Add Object.104: book with the Object.102"],
        },
        {"call": "Pick[Object.103]", "result": SUCCESS_TEXT},
        {"call": "Done[]"},
    ]
    return make(entities=ENTITIES, turns=turns)


def _searched(trace: Trace, most: int, seed: int = 1) -> Trace:
    return with_searches(trace, ExplorationRule(most=most), np.random.default_rng(seed))


def test_what_was_not_known_is_looked_for_first() -> None:
    found = _searched(_straight(), most=0)
    calls = [turn.call for turn in found.turns]
    assert calls == ["ExploreFurniture[Object.101]", *(t.call for t in _straight().turns)]
    first, second = found.turns[:2]
    assert first.deltas == ("Add Object.103: cup with the Object.101",)
    assert second.deltas == ("Add Object.104: book with the Object.102",)
    assert found.provenance.explored == 1


def test_searches_in_vain_are_of_other_furniture_and_end_with_the_right_one() -> None:
    counts = set()
    for seed in range(30):
        found = _searched(_straight(), most=2, seed=seed)
        calls = [turn.call for turn in found.turns]
        searches = calls[: calls.index("Navigate[Object.103]")]
        assert searches[-1] == "ExploreFurniture[Object.101]"
        assert len(set(searches)) == len(searches)
        # Cups are usual on tables, and not on couches.
        assert set(searches) <= {"ExploreFurniture[Object.100]", "ExploreFurniture[Object.101]"}
        counts.add(len(searches))
        told = [line for turn in found.turns for line in turn.deltas]
        assert sorted(told) == [
            "Add Object.103: cup with the Object.101",
            "Add Object.104: book with the Object.102",
        ]
    assert counts == {1, 2}


def test_what_was_known_needs_no_search() -> None:
    trace = make()
    assert _searched(trace, most=3) == trace


def test_a_thing_of_which_no_place_is_known_is_not_imitated() -> None:
    found = _searched(_straight("Add Object.103: cup"), most=3)
    assert [turn.call for turn in found.turns] == [turn.call for turn in _straight().turns]
    assert [turn.learned for turn in found.turns] == [False, True, True]


@pytest.mark.parametrize(
    ("house", "words", "told"),
    [
        ("heldout_0", "Bring me that.", "planners are evaluated in the house heldout_0"),
        ("train_0", "  lamp WATCH", "its instruction is one of a suite for evaluation"),
    ],
)
def test_free_text_of_an_evaluation_is_refused(
    house: str, words: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = (frozenset({"heldout_0"}), frozenset[str](), frozenset({"lamp watch"}))
    monkeypatch.setattr("planner.training.traces.folder.evaluated", lambda: known)
    check_words("bag", "train_0", "Bring me that.")
    with pytest.raises(LeakError, match=told):
        check_words("bag", house, words)
