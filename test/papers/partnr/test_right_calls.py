"""Right replies for `react` and PARTNR's planners, and those with a fault (PARTNR-D64)."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from planning_toys import ToyWorld, play, prop, task_of

from planner.models.chat import Fault
from planner.models.replies.turn import Naming
from planner.models.teacher import Skill, Teacher
from planner.parts.calls import parse_call
from planner.planning.numbered_dialogue import DONE, faulty_calls, written_for_all
from planner.planning.part import PlannerChoice, make_planner
from planner.planning.planner_model import Axes, Control
from planner.world.skill import SkillCall

Make = Callable[..., ToyWorld]
ALONE = ["partnr_finetuned", "partnr_react", "partnr_summary", "partnr_tools"]


def played(world: ToyWorld, name: str, teacher: Teacher, control: Control) -> list[str]:
    """The calls of a team that shall put cup, apple and spoon onto the couch."""
    wanted = ["cup_0", "apple_0", "spoon_0"]
    task = task_of(
        world, {"propositions": [prop("is_on_top", [one], ["couch_0"]) for one in wanted]}
    )
    choice = PlannerChoice(name, Axes(control=control))
    outcome = play(make_planner(choice, task, teacher), world, task)
    assert outcome.done, outcome.failure
    return [call for _, call in outcome.calls]


@pytest.mark.parametrize(
    ("name", "control"),
    [*((name, Control.DECENTRALIZED) for name in ALONE), ("partnr_react", Control.CENTRALIZED)],
)
def test_two_agents_do_the_task_in_one_dialogue_or_two(
    toy_world: Make, name: str, control: Control
) -> None:
    world = toy_world("spoon_0")
    played(world, name, Teacher(Skill()), control)
    assert [world.things[one][1] for one in ("cup_0", "apple_0", "spoon_0")] == ["couch_0"] * 3


def test_done_too_early_leaves_the_task_undone(toy_world: Make) -> None:
    world = toy_world()
    calls = played(
        world, "partnr_react", Teacher(Skill({Fault.EARLY_DONE: 1.0})), Control.CENTRALIZED
    )
    assert set(calls) <= {"Done[]"}
    assert world.things["cup_0"][1] == "table_0"


@pytest.mark.slow
@pytest.mark.parametrize("control", [Control.DECENTRALIZED, Control.CENTRALIZED])
@pytest.mark.parametrize(
    "fault", [Fault.INVENTED_ENTITY, Fault.WRONG_ENTITY, Fault.REPEATED_STEP, Fault.MALFORMED]
)
def test_some_faults_cost_calls_but_not_the_task(
    toy_world: Make, fault: Fault, control: Control
) -> None:
    """Each of them happens, and what was done wrong is noticed and made up for."""
    world = toy_world()
    flawless = played(toy_world(), "partnr_react", Teacher(Skill()), control)
    errs = Skill({fault: 0.3})
    made = played(world, "partnr_react", Teacher(errs), control)
    assert [world.things[one][1] for one in ("cup_0", "apple_0", "spoon_0")] == ["couch_0"] * 3
    is_refused = fault in (Fault.INVENTED_ENTITY, Fault.MALFORMED)
    assert is_refused or made != flawless


def test_each_fault_is_what_its_name_says(toy_world: Make) -> None:
    belief = toy_world().belief()
    right = parse_call("Place[cup_0, on, couch_0, None, None]")
    before = parse_call("Navigate[couch_0]")
    found = faulty_calls(right, before, belief, Naming.NAMES, Random(1))
    assert found[Fault.EARLY_DONE] == DONE
    assert found[Fault.REPEATED_STEP] == before
    assert belief.find(found[Fault.INVENTED_ENTITY].arguments[0] or "") is None
    wrong = belief.find(found[Fault.WRONG_ENTITY].arguments[0] or "")
    assert wrong is not None
    assert wrong.name != "cup_0"
    assert {one.arguments[1:] for one in found.values() if one.arguments[1:]} == {
        right.arguments[1:]
    }
    numbers = faulty_calls(right, None, belief, Naming.NUMBERS, Random(1))
    assert Fault.REPEATED_STEP not in numbers
    assert belief.find(numbers[Fault.INVENTED_ENTITY].arguments[0] or "") is None
    assert faulty_calls(DONE, DONE, belief, Naming.NAMES, Random(1)) == {}


def test_one_agent_that_is_done_ends_a_teams_dialogue() -> None:
    calls = {"a": SkillCall("Wait"), "b": SkillCall("Explore", ("kitchen_1",))}
    assert written_for_all(calls, ("a", "b")).splitlines()[1:] == [
        "Agent_0_Action: Wait[]",
        "Agent_1_Action: Explore[kitchen_1]",
    ]
    assert written_for_all({**calls, "a": DONE}, ("a", "b")).splitlines()[1:] == ["Done[]"]
