"""Searches that are put into runs of those who knew where a thing was (EPM-2.7)."""

from __future__ import annotations

import numpy as np
import pytest
from trace_toys import make

from planner.training.traces.demonstrator import ExplorationRule
from planner.training.traces.guard import LeakError, check_words
from planner.training.traces.record import Trace
from planner.training.traces.searches import with_searches
from planner.world.skill import SUCCESS_TEXT

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
    monkeypatch.setattr("planner.training.traces.guard.evaluated", lambda: known)
    check_words("bag", "train_0", "Bring me that.")
    with pytest.raises(LeakError, match=told):
        check_words("bag", house, words)
