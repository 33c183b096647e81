"""What the robot feels in its hand counts, whatever a primitive's result says."""

from __future__ import annotations

from dataclasses import replace

import pytest
from skill_world import World

from planner.world.primitive import PrimitiveCode, PrimitiveResult, PrimitiveStatus
from planner.world.skill import SUCCESS_TEXT, SkillCode, SkillResult
from sim_bridge.backend import Handle


class Liar:
    """Reports an error for the first pick, or place, that did what it should."""

    def __init__(self, world: World, done: str, code: PrimitiveCode) -> None:
        self.told = 0
        self._ask, self._done, self._code = world.backend.poll, done, code
        self._lies: dict[Handle, PrimitiveStatus] = {}

    def poll(self, handle: Handle) -> PrimitiveStatus:
        status = self._ask(handle)
        result = status.result
        if result is not None and result.succeeded and result.text == self._done and not self.told:
            self.told += 1
            self._lies[handle] = replace(status, result=PrimitiveResult(self._code, "it failed"))
        return self._lies.get(handle, status)


def lie(monkeypatch: pytest.MonkeyPatch, world: World, done: str, code: PrimitiveCode) -> Liar:
    liar = Liar(world, done, code)
    monkeypatch.setattr(world.backend, "poll", liar.poll)
    return liar


def fetch_cup(world: World) -> SkillResult:
    world.run("Navigate[table_0]")
    return world.run("Pick[cup_0]")


@pytest.mark.parametrize("code", [PrimitiveCode.NOTHING_THERE, PrimitiveCode.GRASP_FAILED])
def test_a_grasp_that_closed_is_a_success_whatever_it_reported(
    world: World, monkeypatch: pytest.MonkeyPatch, code: PrimitiveCode
) -> None:
    liar = lie(monkeypatch, world, "picked", code)
    result = fetch_cup(world)
    assert liar.told == 1
    assert (result.code, result.text) == (SkillCode.SUCCESS, SUCCESS_TEXT)
    assert result.hands == ("cup_0",)
    assert world.run("Place[cup_0, on, table_0, None, None]").succeeded


def test_a_pick_that_was_stopped_says_what_the_hand_holds(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    lie(monkeypatch, world, "picked", PrimitiveCode.STOPPED)
    world.changes["agent_0"] = {"hands": (None,)}
    result = fetch_cup(world)
    assert result.code is SkillCode.NOT_ALLOWED
    assert result.hands == ("cup_0",)
    again = world.run("Pick[apple_0]")
    assert again.text.endswith("The agent is already holding cup_0.")
    assert world.run("Place[cup_0, on, table_0, None, None]").succeeded


def test_a_place_that_let_go_leaves_the_hand_empty_and_says_where(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetch_cup(world)
    lie(monkeypatch, world, "placed", PrimitiveCode.BACKEND_FAULT)
    result = world.run("Place[cup_0, on, table_0, None, None]")
    assert result.code is SkillCode.BACKEND_FAULT
    assert result.hands == (None,)
    at_m = world.state.entities["cup_0"].box.center_m
    assert result.position_m is not None
    assert result.position_m == pytest.approx(at_m, abs=0.4)
    assert world.run("Pick[cup_0]").succeeded


def test_what_fell_out_of_the_hand_on_the_way_is_not_held(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetch_cup(world)
    observe = world.backend.observe

    def feels_nothing(*asked: object) -> object:
        return replace(observe(*asked), holding=False)  # type: ignore[arg-type]

    monkeypatch.setattr(world.backend, "observe", feels_nothing)
    assert world.run("Navigate[table_1]").hands == (None,)
    assert world.run("Place[cup_0, on, table_1, None, None]").code is SkillCode.NOT_HOLDING


def test_a_grasp_that_was_felt_late_is_of_the_thing_reached_for(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The gripper's state may come a moment after the grasp's end."""
    lie(monkeypatch, world, "picked", PrimitiveCode.NOTHING_THERE)
    world.changes["agent_0"] = {"hands": (None,)}
    observe = world.backend.observe
    monkeypatch.setattr(
        world.backend, "observe", lambda *asked: replace(observe(*asked), holding=False)
    )
    missed = fetch_cup(world)
    assert (missed.code, missed.hands) == (SkillCode.NOT_GROUNDED, (None,))
    # The body refuses, as its hand is full.
    again = world.run("Pick[cup_0]")
    assert (again.code, again.hands) == (SkillCode.SUCCESS, ("cup_0",))


def test_a_thing_that_nobody_knows_is_no_empty_hand(world: World) -> None:
    fetch_cup(world)
    world.team.forget()
    world.changes["agent_0"] = {"hands": (None,)}
    result = world.run("Navigate[table_1]")
    assert result.succeeded
    assert result.hands is None
