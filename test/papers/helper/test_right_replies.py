"""The teacher's right replies for HELPER's roles, and their faults."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from planning_toys import Spots, ToyWorld, capabilities, prop

from papers.helper.diagnosis import default_failures
from papers.helper.programs.program import default_vocabulary
from papers.helper.right_replies import INVENTED, RightReplies
from papers.helper.roles import (
    Example,
    HelperRole,
    LocatorRole,
    PlannerRole,
    RectifierRole,
)
from planner.models.chat import Fault, ModelError, Reader, ReferenceReply
from planner.planning.planner import Context, Task
from planner.world.vocabulary import AgentKind, Relation

AGENT = "agent_1"
NAMES = default_vocabulary().names
SAID = "Put a clean cup on the bed."
PLANNER = PlannerRole(SAID, (), NAMES)
CLEAN_CUP = [prop("is_clean", ["cup_0"]), prop("is_on_top", ["cup_0"], ["table_1"])]
Make = Callable[..., ToyWorld]


class Right:
    """Asks for right replies in the toy world."""

    def __init__(self, world: ToyWorld, propositions: list[Any]) -> None:
        goal: Any = {"propositions": propositions, "dependencies": [], "constraints": []}
        self.task, self.world = Task(SAID, (AGENT,), goal), world
        self.right = RightReplies(self.task)

    def __call__(self, role: HelperRole[object], *, heeds: bool = False) -> ReferenceReply:
        able = {AGENT: capabilities(AgentKind.HUMAN)}
        layout = self.world.house.layout
        belief = self.world.belief()
        context = Context(self.task, belief, layout, able, {}, (AGENT,), 0.0)
        return asyncio.run(self.right(role, context, Random(1), Reader(heeds=heeds)))


@pytest.fixture
def right(toy_world: Make) -> Right:
    return Right(toy_world(states={"cup_0": {"clean": False}}), CLEAN_CUP)


def sentence(name: str) -> str:
    return next(one.sentence for one in default_failures().failures if one.name == name)


def calls(text: str) -> list[str]:
    return [line for line in text.splitlines() if "InteractionObject" not in line]


def test_the_right_program_follows_from_the_goal(right: Right) -> None:
    text = right(PLANNER).flawless
    assert calls(text) == [
        "mug.go_to()",
        "mug.pickup()",
        "mug.clean()",
        # Of two tables the one is meant that is the nearest from there.
        "drawer.go_to()",
        "dining_table.go_to()",
        "mug.place(dining_table)",
    ]
    assert 'mug = InteractionObject("Mug", attributes=["clean"])' in text
    PLANNER.form.read(text, ended=True)


def test_what_holds_already_is_not_done_again(toy_world: Make) -> None:
    text = Right(toy_world(), CLEAN_CUP)(PLANNER).flawless
    assert "clean" not in text
    assert "mug.place(dining_table)" in text


def test_a_variable_is_bound_to_what_is_done_so_that_another_is_taken(toy_world: Make) -> None:
    """One of two cups is on the table already, and was put there before the task began."""
    spots: Spots = {"cup_0": (Relation.ON, "table_1"), "cup_1": (Relation.ON, "table_0")}
    goal = [prop("is_on_top", [name], ["table_1"]) for name in spots]
    text = Right(toy_world(things=spots), goal)(PLANNER).flawless
    assert 'mug = InteractionObject("Mug", landmark="DiningTable")' in text
    assert calls(text)[0] == "mug.go_to()"
    assert "mug_2.pickup()" in calls(text)
    assert "mug.pickup()" not in calls(text)


def test_each_fault_changes_the_program(right: Right) -> None:
    reply = right(PLANNER)
    assert reply.acts
    assert set(reply.faulty) == {
        Fault.INVENTED_ENTITY,
        Fault.WRONG_ENTITY,
        Fault.SKIPPED_STEP,
        Fault.REPEATED_STEP,
        Fault.EARLY_DONE,
    }
    assert len({reply.flawless, *reply.faulty.values()}) == 6
    assert INVENTED in reply.faulty[Fault.INVENTED_ENTITY]
    assert len(calls(reply.faulty[Fault.SKIPPED_STEP])) == len(calls(reply.flawless)) - 1


def test_who_heeds_the_examples_writes_the_one_that_fits_instead_of_a_fault(right: Right) -> None:
    plate = 'plate = InteractionObject("Plate")\nplate.pickup()\nplate.clean()\n'
    plate += 'table = InteractionObject("DiningTable")\nplate.place(table)\n'
    told = Example("Put a clean plate on the dining table.", plate)
    other = Example("Turn on the lamp.", 'lamp = InteractionObject("DeskLamp")\nlamp.toggle_on()')
    shown = replace(PLANNER, examples=(other, told))
    faulty = right(shown, heeds=True).faulty
    assert set(faulty) == set(right(shown).faulty)
    (written,) = set(faulty.values())
    assert calls(written) == ["plate.pickup()", "plate.clean()", "plate.place(bed)"]
    assert 'InteractionObject("Cup")' in written
    assert right(shown, heeds=True).flawless == right(PLANNER).flawless
    for unheard, heeds in ((shown, False), (replace(PLANNER, examples=(other,)), True)):
        assert right(unheard, heeds=heeds).faulty == right(PLANNER).faulty


@pytest.mark.parametrize(
    ("subgoal", "cause", "repair"),
    [
        ("mug.pickup()", "too_close", "agent.move_back()"),
        ("mug.pickup()", "hidden", "agent.move_alternate_viewpoint()"),
        ("mug.clean()", "hand_empty", "mug.pickup()"),
        ("mug.place(dining_table)", "target_full", "mug.place(free_place)"),
        ("mug.clean()", "wrong_object", "mug.clean()"),
        ("mug.open()", "already_so", "do_nothing()"),
    ],
)
def test_the_right_repair_follows_from_the_sentence(
    right: Right, subgoal: str, cause: str, repair: str
) -> None:
    right(PLANNER)
    role = RectifierRole(subgoal, sentence(cause), SAID, (), NAMES)
    reply = right(role)
    # The Corrector's share of the rates holds for it.
    assert not reply.acts
    assert repair in reply.flawless
    role.form.read(reply.flawless, ended=True)
    assert "do_nothing()" in reply.faulty[Fault.UNNOTICED_FAILURE]


def test_the_right_places_are_of_the_list(right: Right) -> None:
    role = LocatorRole("Mug", SAID, NAMES)
    reply = right(role)
    assert len(role.form.read(reply.flawless, ended=True)) == 3
    assert reply.faulty[Fault.WRONG_ENTITY] != reply.flawless


def test_without_a_goal_there_is_no_right_reply(right: Right) -> None:
    right.right = RightReplies(Task(SAID, (AGENT,)))
    with pytest.raises(ModelError, match="goal"):
        right(PLANNER)


def test_a_goal_that_programs_cannot_express_is_told(toy_world: Make) -> None:
    dusty = Right(toy_world(), [prop("is_dusted", ["cup_0"])])
    with pytest.raises(ModelError, match="dusted"):
        dusty(PLANNER)


def test_a_room_without_furniture_to_put_things_on_is_told(toy_world: Make) -> None:
    world = toy_world(things={"cup_0": (Relation.ON, "table_0")})
    furniture = tuple(p for p in world.house.furniture if p.room != "living_room_0")
    world.house = world.house.model_copy(update={"furniture": furniture})
    right = Right(world, [prop("is_in_room", ["cup_0"], ["living_room_0"])])
    with pytest.raises(ModelError, match="nothing in the room has a top"):
        right(PLANNER)


def by_words(text: str) -> str:
    task = Task(text, (AGENT,))
    found = RightReplies(task)
    # Nothing is read but the words.
    return asyncio.run(found(PLANNER, None, Random(1), Reader())).flawless  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("Find the hammer.", ['hammer = InteractionObject("Hammer")', "hammer.go_to()"]),
        (
            "Please look for the carrot on a counter and stop next to it.",
            ['carrot = InteractionObject("Carrot", landmark="CounterTop")', "carrot.go_to()"],
        ),
    ],
)
def test_what_shall_only_be_found_is_read_from_the_words(text: str, lines: list[str]) -> None:
    assert by_words(text).splitlines() == lines


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Tidy up.", "does not only ask to find one thing"),
        ("Put the mug on the table.", "does not only ask to find one thing"),
        ("Find the mug in the kitchen.", "no program can name a kitchen"),
        ("Find the chair facing the sofa.", "no word for this relation"),
    ],
)
def test_words_that_no_program_follows_from_are_refused(text: str, reason: str) -> None:
    with pytest.raises(ModelError, match=reason):
        by_words(text)


def test_an_order_that_is_asked_for_comes_before_that_of_places(toy_world: Make) -> None:
    """A into B, then B to C: B is taken away only once A is in it (ETPLAN-C33)."""
    things: Spots = {
        "cup_0": (Relation.ON, "table_0"),
        "apple_0": (Relation.ON, "table_0"),
    }
    world = toy_world(things=things)
    into = prop("is_inside", ["apple_0"], ["cup_0"])
    onto = prop("is_on_top", ["cup_0"], ["couch_0"])
    right = Right(world, [onto, into])
    assert calls(right(PLANNER).flawless)[-1].startswith("apple.place(")
    goal: Any = right.task.goal
    goal["constraints"] = [{"type": "TemporalConstraint", "edges": [[1, 0]]}]
    assert calls(right(PLANNER).flawless) == [
        *("apple.go_to()", "apple.pickup()", "mug.go_to()", "apple.place(mug)"),
        *("mug.go_to()", "mug.pickup()", "sofa.go_to()", "mug.place(sofa)"),
    ]
