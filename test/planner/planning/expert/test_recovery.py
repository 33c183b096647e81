"""The planner `expert` when skills fail."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from planning_toys import Outcome, ToyWorld, prop, run_goal

from planner.planning.expert.notes import MAX_TRIES
from planner.world.skill import SkillCall, SkillCode, SkillName, SkillResult
from planner.world.vocabulary import AgentKind, Relation

Make = Callable[..., ToyWorld]
MOVE_CUP = [prop("is_on_top", ["cup_0"], ["couch_0", "table_1"])]


class Failing:
    """Fails calls that begin with `text` the first `times` times."""

    def __init__(self, text: str, code: SkillCode, times: int = 1, who: str = "") -> None:
        self.text, self.code, self.times, self.who = text, code, times, who

    def __call__(self, agent: str, call: SkillCall) -> SkillResult | None:
        if self.times <= 0 or not str(call).startswith(self.text) or self.who not in ("", agent):
            return None
        self.times -= 1
        return SkillResult.failure(self.code, "It failed.")


def failed(outcome: Outcome) -> list[str]:
    return [call for _, call, code in outcome.world.log if code is not SkillCode.SUCCESS]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Navigate[cup_0]", SkillCode.BLOCKED),
        ("Navigate[cup_0]", SkillCode.UNREACHABLE),
        ("Pick[cup_0]", SkillCode.TOO_FAR),
        ("Pick[cup_0]", SkillCode.GRASP_FAILED),
        ("Pick[cup_0]", SkillCode.NOT_VISIBLE),
        ("Pick[cup_0]", SkillCode.TIMED_OUT),
        ("Pick[cup_0]", SkillCode.CANCELED),
        ("Pick[cup_0]", SkillCode.NOT_GROUNDED),
        ("Pick[cup_0]", SkillCode.BACKEND_FAULT),
        ("Navigate[couch_0]", SkillCode.BLOCKED),
        ("Place[cup_0", SkillCode.TOO_FAR),
        ("Place[cup_0", SkillCode.NO_PLACEMENT),
        ("Place[cup_0", SkillCode.FURNITURE_CLOSED),
    ],
)
@pytest.mark.parametrize("times", [1, 2])
def test_a_failure_that_passes_is_got_over(
    toy_world: Make, text: str, code: SkillCode, times: int
) -> None:
    world = toy_world(fault=Failing(text, code, times), agents={"agent_0": AgentKind.ROBOT})
    outcome = run_goal(world, MOVE_CUP)
    assert outcome.done, outcome.failure
    assert len(failed(outcome)) <= times


def test_a_failed_pick_is_approached_again_and_from_the_furniture(toy_world: Make) -> None:
    world = toy_world(
        fault=Failing("Pick[cup_0]", SkillCode.NOT_VISIBLE), agents={"agent_0": AgentKind.ROBOT}
    )
    calls = run_goal(world, MOVE_CUP).of("agent_0")
    assert calls[:2] == ["Navigate[cup_0]", "Pick[cup_0]"]
    assert calls[2] == "Navigate[table_0]"


def test_another_place_is_taken_where_nothing_fits(toy_world: Make) -> None:
    world = toy_world(fault=Failing("Place[cup_0, on, couch_0", SkillCode.NO_PLACEMENT, 99))
    outcome = run_goal(world, MOVE_CUP)
    assert outcome.done
    assert world.things["cup_0"][1] == "table_1"


class Full:
    """A couch with room for so many things."""

    def __init__(self, room_for: int) -> None:
        self.world: ToyWorld | None = None
        self._room_for = room_for

    def __call__(self, agent: str, call: SkillCall) -> SkillResult | None:
        if self.world is None or call.name != SkillName.PLACE or call.arguments[2] != "couch_0":
            return None
        there = [thing for thing, spot in self.world.things.items() if spot[1] == "couch_0"]
        if len(there) < self._room_for:
            return None
        return SkillResult.failure(SkillCode.NO_PLACEMENT, "No valid placements found.")


CLUTTER = {f"book_{k}": (Relation.ON, "couch_0") for k in (1, 2)}
ON_COUCH = [prop("is_on_top", ["cup_0"], ["couch_0"]), prop("is_on_top", ["book_1"], ["couch_0"])]


@pytest.mark.parametrize("agents", [1, 2])
def test_room_is_made_where_nothing_fits_any_more(toy_world: Make, agents: int) -> None:
    fault = Full(room_for=2)
    names = [f"agent_{k}" for k in range(agents)]
    world = fault.world = toy_world(fault=fault)
    world.things |= CLUTTER
    outcome = run_goal(world, ON_COUCH, agents=names)
    assert outcome.done, outcome.failure
    # Only what the goal does not name, and no more than is needed.
    assert {thing for thing, spot in world.things.items() if spot[1] == "couch_0"} == {
        "cup_0",
        "book_1",
    }


def test_what_shall_stay_is_not_moved_to_make_room(toy_world: Make) -> None:
    fault = Full(room_for=2)
    world = fault.world = toy_world(fault=fault)
    world.things |= CLUTTER
    stays = prop("is_on_top", ["book_2"], ["couch_0"])
    outcome = run_goal(
        world,
        [*ON_COUCH, stays],
        constraints=[{"type": "AlwaysConstraint", "proposition_indices": [2]}],
    )
    assert "No valid placements found" in outcome.failure
    assert world.things["book_2"] == (Relation.ON, "couch_0")


def test_another_thing_is_taken_where_one_cannot_be_picked(toy_world: Make) -> None:
    world = toy_world(fault=Failing("Pick[cup_0]", SkillCode.GRASP_FAILED, 99))
    outcome = run_goal(world, [prop("is_on_top", ["cup_0", "apple_0"], ["couch_0"])])
    assert outcome.done
    assert world.things["apple_0"][1] == "couch_0"


def test_what_one_cannot_reach_another_may(toy_world: Make) -> None:
    world = toy_world(fault=Failing("Pick[cup_0]", SkillCode.NOT_VISIBLE, 99, who="agent_1"))
    outcome = run_goal(world, MOVE_CUP)
    assert outcome.done
    assert ("agent_0", "Pick[cup_0]", SkillCode.SUCCESS) in world.log


def test_an_idle_agent_makes_way(toy_world: Make) -> None:
    things = {"cup_0": (Relation.ON, "table_0")}
    world = toy_world(things=things, fault=Failing("Pick[cup_0]", SkillCode.TOO_FAR, 1))
    world.position = {"agent_0": (2.2, 2.4, 0.0), "agent_1": (2.4, 2.4, 0.0)}
    outcome = run_goal(world, MOVE_CUP)
    assert outcome.done
    (taker,) = {who for who, call in outcome.calls if call == "Pick[cup_0]"}
    other = "agent_1" if taker == "agent_0" else "agent_0"
    assert any(call.startswith("Navigate[living_room") for call in outcome.of(other))


def test_a_thing_that_is_not_where_it_was_believed_is_looked_for(toy_world: Make) -> None:
    world = toy_world()
    gone = {"moved": False}

    def fault(agent: str, call: SkillCall) -> SkillResult | None:
        if call.name == SkillName.PICK and not gone["moved"]:
            return SkillResult.failure(SkillCode.NOT_GROUNDED, "No object found.")
        if call.name == SkillName.EXPLORE_FURNITURE:
            gone["moved"] = True
            world.things["cup_0"] = (Relation.ON, "couch_0")
        return None

    world.fault = fault
    outcome = run_goal(world, [prop("is_on_top", ["cup_0"], ["table_1"])])
    assert outcome.done
    assert any(call.startswith("ExploreFurniture") for _, call in outcome.calls)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Pick[cup_0]", SkillCode.GRASP_FAILED),
        ("Navigate", SkillCode.UNREACHABLE),
        ("Place", SkillCode.NO_PLACEMENT),
        ("", SkillCode.BACKEND_FAULT),
        ("", SkillCode.NOT_ALLOWED),
        ("", SkillCode.TIMED_OUT),
    ],
)
def test_gives_up_in_words_and_after_a_bounded_number_of_tries(
    toy_world: Make, text: str, code: SkillCode
) -> None:
    world = toy_world(fault=Failing(text, code, 10_000))
    outcome = run_goal(world, MOVE_CUP)
    assert not outcome.done
    assert "It failed." in outcome.failure
    assert len(outcome.calls) < 100


def test_continues_with_the_rest_before_it_gives_up(toy_world: Make) -> None:
    world = toy_world(fault=Failing("Pick[cup_0]", SkillCode.GRASP_FAILED, 10_000))
    outcome = run_goal(
        world,
        [prop("is_on_top", ["cup_0"], ["couch_0"]), prop("is_on_top", ["apple_0"], ["couch_0"])],
    )
    assert "cup_0" in outcome.failure
    assert world.things["apple_0"][1] == "couch_0"


def test_a_wish_that_somebody_undoes_is_done_again(toy_world: Make) -> None:
    world = toy_world(agents={"agent_0": AgentKind.ROBOT})
    meddled = []

    def fault(agent: str, call: SkillCall) -> SkillResult | None:
        if str(call).startswith("Place[apple_0") and not meddled:
            meddled.append(call)
            world.things["cup_0"] = (Relation.ON, "table_0")
        return None

    world.fault = fault
    outcome = run_goal(
        world,
        [prop("is_on_top", ["cup_0"], ["couch_0"]), prop("is_on_top", ["apple_0"], ["couch_0"])],
    )
    assert outcome.done
    assert world.things["cup_0"][1] == "couch_0"


def test_a_thing_that_is_taken_away_for_ever_ends_the_task(toy_world: Make) -> None:
    world = toy_world(agents={"agent_0": AgentKind.ROBOT})

    def fault(agent: str, call: SkillCall) -> SkillResult | None:
        if str(call).startswith("Place[apple_0"):
            result = world._act(agent, call)
            world.things["apple_0"] = (Relation.ON, "table_0")
            return result
        return None

    world.fault = fault
    outcome = run_goal(world, [prop("is_on_top", ["apple_0"], ["couch_0"])])
    assert outcome.failure
    assert len(outcome.calls) < 80


@pytest.mark.parametrize("agent", ["agent_0", "agent_1"])
def test_after_a_walk_that_timed_out_an_agent_of_a_team_steps_back(
    toy_world: Make, agent: str
) -> None:
    fault = Failing("Navigate[", SkillCode.TIMED_OUT, who=agent)
    propositions = [*MOVE_CUP, prop("is_on_top", ["apple_0"], ["couch_0", "table_1"])]
    outcome = run_goal(toy_world(fault=fault), propositions)
    assert outcome.done, outcome.failure
    calls = [(call, code) for actor, call, code in outcome.world.log if actor == agent]
    timed_out = next(n for n, (_, code) in enumerate(calls) if code is SkillCode.TIMED_OUT)
    rooms = {f"Navigate[{room.name}]" for room in outcome.world.house.rooms}
    assert calls[timed_out + 1][0] in rooms


@pytest.mark.parametrize(
    ("text", "proposition"),
    [
        ("Clean[table_0]", prop("is_clean", ["table_0"])),
        ("PowerOff[lamp_0]", prop("is_powered_off", ["lamp_0"])),
        ("Open[chest_of_drawers_0]", prop("is_on_top", ["spoon_0"], ["table_0"])),
        ("Open[cabinet_0]", prop("is_inside", ["cup_0"], ["cabinet_0"])),
    ],
)
def test_a_success_that_the_memory_never_shows_is_not_repeated_for_ever(
    toy_world: Make, text: str, proposition: Any
) -> None:
    def succeeds(_agent: str, call: SkillCall) -> SkillResult | None:
        return SkillResult.success() if str(call) == text else None

    world = toy_world(fault=succeeds)
    world.states = {"table_0": {"clean": False}, "lamp_0": {"powered_on": True}}
    outcome = run_goal(world, [proposition])
    assert f"{text} succeeded" in outcome.failure
    assert "the memory does not show its effect" in outcome.failure
    assert len(outcome.calls) < 60


def test_a_change_is_made_again_as_often_as_the_memory_showed_it(toy_world: Make) -> None:
    world = toy_world()
    undone = []

    def fault(_agent: str, call: SkillCall) -> SkillResult | None:
        # Somebody makes the table dirty again, while others work.
        if world.states["table_0"]["clean"] and len(undone) < MAX_TRIES + 2:
            undone.append(call)
            world.states["table_0"] = {"clean": False}
        return None

    world.fault = fault
    world.states = {"table_0": {"clean": False}}
    moves = [prop("is_on_top", [name], ["couch_0"]) for name in ("cup_0", "apple_0", "book_0")]
    outcome = run_goal(world, [prop("is_clean", ["table_0"]), *moves])
    assert outcome.done, outcome.failure
    assert len(undone) == MAX_TRIES + 2


def test_a_state_of_furniture_that_a_person_told_the_memory_counts(toy_world: Make) -> None:
    world = toy_world()
    world.states = {"table_0": {"clean": True}}
    outcome = run_goal(world, [prop("is_clean", ["table_0"])])
    assert [call for _, call in outcome.calls] == ["Done[]", "Done[]"]
