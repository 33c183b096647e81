"""Statements become skill calls: preconditions, no-ops, instances, repairs. No simulator."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from planning_toys import Spots, ToyWorld, capabilities

from papers.helper.programs.interpreter import Interpreter
from papers.helper.programs.parsing import parse_program
from papers.helper.programs.program import (
    Failed,
    Finished,
    Missing,
    Outcome,
    ProgramError,
    Step,
    work_text,
)
from planner.planning.planner import Context, Task
from planner.world.errors import PlannerError
from planner.world.skill import SkillCall, SkillCode, SkillResult
from planner.world.vocabulary import AgentKind, Relation

Make = Callable[..., ToyWorld]
AGENT = "agent_0"
FLOOR = "floor_kitchen_0"
ON, IN = Relation.ON, Relation.WITHIN
KITCHEN: Spots = {
    "tomato_0": (ON, "table_0"),
    "knife_0": (ON, "table_1"),
    "plate_0": (ON, "table_0"),
    "potato_0": (ON, "table_1"),
    "tissue_box_0": (ON, "table_0"),
    "tissue_box_1": (ON, "table_1"),
    "apple_0": (IN, "cabinet_0"),
}


class Kitchen:
    """A program in the toy world; `context` is what the agent knows now."""

    def __init__(self, world: ToyWorld, text: str, *, checks: bool = True) -> None:
        self.world = world
        self.interpreter = Interpreter(
            parse_program(text), agent=AGENT, checks_preconditions=checks
        )

    @property
    def context(self) -> Context:
        able = capabilities(self.world.agents[AGENT])
        layout = self.world.house.layout
        belief = self.world.belief()
        return Context(Task("", (AGENT,)), belief, layout, {AGENT: able}, {}, (AGENT,), 0.0)

    def next(self) -> Step:
        return self.interpreter.next(self.context)

    def end(self, result: SkillResult | None = None) -> None:
        """Ends the running call as the toy world does, or else with a result."""
        self.interpreter.observe(result or SkillResult.success())

    def run(self, most: int = 40) -> Step:
        """Plays calls in the toy world until something else comes."""
        for _ in range(most):
            step = self.next()
            if not isinstance(step, SkillCall):
                return step
            self.most_held = max(self.most_held, len(self.world._held(AGENT)))
            self.interpreter.observe(self.world.carry_out(AGENT, step))
        raise AssertionError(f"not over: {self.calls}")

    most_held = 0

    @property
    def calls(self) -> list[str]:
        return [call for _, call, _ in self.world.log]

    @property
    def queue(self) -> list[str]:
        return [work_text(work) for work in self.interpreter.queue]


@pytest.fixture
def kitchen(toy_world: Make) -> Callable[..., Kitchen]:
    def make(
        text: str, *, hidden: Sequence[str] = (), checks: bool = True, **more: object
    ) -> Kitchen:
        kind = more.pop("kind", AgentKind.HUMAN)
        things = more.pop("things", KITCHEN)
        world = toy_world(*hidden, things=things, agents={AGENT: kind}, **more)
        return Kitchen(world, text, checks=checks)

    return make


SLICE = 'tomato = InteractionObject("Tomato")\ntomato.slice()\n'
KNIFE = 'knife = InteractionObject("Knife")\nknife.pickup()\n'


def test_check_20_two_variables_are_two_things(kitchen: Callable[..., Kitchen]) -> None:
    """HELPER-C20."""
    boxes = "".join(f'box{n} = InteractionObject("TissueBox")\nbox{n}.go_to()\n' for n in (1, 2))
    played = kitchen(boxes)
    assert played.run() == Finished()
    assert sorted(played.calls) == ["Navigate[tissue_box_0]", "Navigate[tissue_box_1]"]


def test_two_variables_where_there_is_one_thing(kitchen: Callable[..., Kitchen]) -> None:
    """The second is searched for; after that the first one's thing will do."""
    plates = "".join(f'p{n} = InteractionObject("Plate")\np{n}.go_to()\n' for n in (1, 2))
    played = kitchen(plates)
    missing = played.run()
    assert isinstance(missing, Missing)
    assert (missing.class_name, missing.classes) == ("Plate", ("plate",))
    played.interpreter.not_found(played.context)
    assert played.run() == Finished()


def test_check_21_a_knife_is_fetched_to_slice(kitchen: Callable[..., Kitchen]) -> None:
    """HELPER-C21: knife, go to, pick up, back to the target, slice."""
    played = kitchen(SLICE)
    assert played.next() == SkillCall("Navigate", ("knife_0",))
    assert played.queue == [
        "_knife.go_to()",
        "_knife.pickup()",
        "tomato.go_to()",
        "tomato.slice()",
    ]
    played.interpreter.observe(played.world.carry_out(AGENT, SkillCall("Navigate", ("knife_0",))))
    assert played.run() == Finished()
    assert played.calls == [
        "Navigate[knife_0]",
        "Pick[knife_0]",
        "Navigate[tomato_0]",
        "Slice[tomato_0]",
    ]


@pytest.mark.parametrize(("name", "fetched"), [("ButterKnife", True), ("Knife", False)])
def test_check_22_the_label_of_what_is_held_decides(
    kitchen: Callable[..., Kitchen], name: str, fetched: bool
) -> None:
    """HELPER-C22."""
    played = kitchen(KNIFE.replace('"Knife"', f'"{name}"') + SLICE)
    assert played.run() == Finished()
    assert (played.calls.count("Pick[knife_0]") == 2) is fetched
    assert played.calls[-1] == "Slice[tomato_0]"


def test_check_23_what_is_held_is_put_down_first(kitchen: Callable[..., Kitchen]) -> None:
    """HELPER-C23: never two things in the hands."""
    played = kitchen(
        'plate = InteractionObject("Plate")\nplate.pickup()\n'
        'potato = InteractionObject("Potato")\npotato.go_to()\npotato.pickup()\n'
    )
    assert played.run() == Finished()
    at = played.calls.index
    assert at("Pick[plate_0]") < at("Place[plate_0, on, table_1, None, None]")
    assert at("Place[plate_0, on, table_1, None, None]") < at("Pick[potato_0]")
    assert played.most_held == 1


def test_check_24_what_is_cleaned_is_picked_up_first(kitchen: Callable[..., Kitchen]) -> None:
    """HELPER-C24: and taken to the sink."""
    played = kitchen(
        'plate = InteractionObject("Plate")\nplate.clean()\n',
        states={"plate_0": {"clean": False}},
    )
    assert played.run() == Finished()
    assert played.calls == [
        "Navigate[plate_0]",
        "Pick[plate_0]",
        "Navigate[sink_0]",
        "Clean[plate_0]",
    ]


def test_check_25_a_closed_place_is_opened_once(kitchen: Callable[..., Kitchen]) -> None:
    """HELPER-C25: a second `open()` is left out."""
    text = (
        'plate = InteractionObject("Plate")\nplate.pickup()\n'
        'cabinet = InteractionObject("Cabinet")\nplate.place(cabinet)\n'
        "cabinet.open()\ncabinet.open()\n"
    )
    played = kitchen(text)
    assert played.run() == Finished()
    assert played.calls[-3:] == [
        "Navigate[cabinet_0]",
        "Open[cabinet_0]",
        "Place[plate_0, within, cabinet_0, None, None]",
    ]
    outcomes = [one.outcome for one in played.interpreter.executed]
    assert outcomes[-2:] == [Outcome.ALREADY_TRUE] * 2


def test_check_26_without_preconditions_it_is_sent_as_it_is(
    kitchen: Callable[..., Kitchen],
) -> None:
    """HELPER-C26: and the failure is recorded."""
    played = kitchen(SLICE, checks=False)
    assert played.next() == SkillCall("Slice", ("tomato_0",))
    said = "The agent is not holding a knife."
    played.end(SkillResult.failure(SkillCode.NOT_HOLDING, said))
    failed = played.next()
    assert isinstance(failed, Failed)
    assert (failed.code, failed.text) == (SkillCode.NOT_HOLDING, f"Unexpected failure! - {said}")
    assert [one.outcome for one in played.interpreter.executed] == [Outcome.FAILED]


def test_a_failed_statement_is_tried_again_after_its_repair(
    kitchen: Callable[..., Kitchen],
) -> None:
    played = kitchen('mug = InteractionObject("Plate")\nmug.go_to()\nmug.pickup()\n')
    played.next()
    played.interpreter.observe(played.world.carry_out(AGENT, SkillCall("Navigate", ("plate_0",))))
    assert str(played.next()) == "Pick[plate_0]"
    played.end(SkillResult.failure(SkillCode.GRASP_FAILED, "The grasp of plate_0 failed."))
    failed = played.next()
    assert isinstance(failed, Failed)
    assert failed == played.next()
    repair = parse_program("a = AgentCorrective()\na.move_closer()", corrective=True)
    played.interpreter.insert(repair)
    assert str(played.next()) == "Move[Ahead]"
    played.end(SkillResult.failure(SkillCode.BLOCKED, "The way is blocked."))
    assert str(played.next()) == "Pick[plate_0]"


def test_a_repair_of_nothing_goes_on_with_the_program(kitchen: Callable[..., Kitchen]) -> None:
    """HELPER-C17: zero actions, then the next statement."""
    played = kitchen(
        'plate = InteractionObject("Plate")\nplate.pickup()\n'
        'box = InteractionObject("TissueBox")\nbox.go_to()\n'
    )
    played.next()
    played.end(SkillResult.failure(SkillCode.UNREACHABLE, "plate_0 is unreachable."))
    assert isinstance(played.next(), Failed)
    played.interpreter.insert(parse_program("do_nothing()", corrective=True))
    assert str(played.next()) == "Navigate[tissue_box_0]"
    assert played.interpreter.executed[-1].outcome is Outcome.SKIPPED


def test_a_repairs_variables_are_its_own(kitchen: Callable[..., Kitchen]) -> None:
    """It may name the program's variables, and means what failed where it names its class."""
    played = kitchen(
        'box = InteractionObject("TissueBox")\nbox.go_to()\nbox.pickup()\nbox.put_down()'
    )
    played.next()
    played.end()
    assert str(played.next()) == "Pick[tissue_box_0]"
    played.end(SkillResult.failure(SkillCode.GRASP_FAILED, "The grasp failed."))
    repair = 'it = InteractionObject("TissueBox")\nbox = InteractionObject("Sink")\n'
    played.interpreter.insert(parse_program(repair + "box.go_to()\nit.go_to()", corrective=True))
    assert played.run() == Finished()
    assert played.calls[:3] == [
        "Navigate[sink_0]",
        "Navigate[tissue_box_0]",
        "Pick[tissue_box_0]",
    ]


def test_skipping_gives_up_what_was_put_before_too(kitchen: Callable[..., Kitchen]) -> None:
    played = kitchen(f"{SLICE}tomato.go_to()\n", hidden=["knife_0"])
    missing = played.next()
    assert isinstance(missing, Missing)
    assert missing.class_name == "Knife"
    played.interpreter.skip()
    assert str(played.next()) == "Navigate[tomato_0]"


def test_what_is_missing_is_bound_once_it_is_seen(kitchen: Callable[..., Kitchen]) -> None:
    played = kitchen('p = InteractionObject("Plate", "Sink")\np.go_to()\n', hidden=["plate_0"])
    missing = played.next()
    assert isinstance(missing, Missing)
    assert (missing.class_name, missing.landmark) == ("Plate", "Sink")
    played.world.hidden.clear()
    assert str(played.next()) == "Navigate[plate_0]"


def test_the_floor_is_a_landmark_and_a_place(kitchen: Callable[..., Kitchen]) -> None:
    """HELPER's published examples look for what lies on the floor."""
    boxes = {"tissue_box_0": (ON, "table_0"), "tissue_box_1": (ON, FLOOR)}
    played = kitchen('b = InteractionObject("TissueBox", "Floor")\nb.pickup()\n', things=boxes)
    assert played.run() == Finished()
    assert played.calls[-1] == "Pick[tissue_box_1]"
    text = 'f = InteractionObject("Floor")\nb = InteractionObject("TissueBox")\n'
    played = kitchen(f"{text}b.pickup()\nb.place(f)\n", things={"tissue_box_0": (ON, "table_0")})
    assert played.run() == Finished()
    assert played.calls[-1] == f"Place[tissue_box_0, on, {FLOOR}, None, None]"


def test_what_is_not_found_is_a_failure(kitchen: Callable[..., Kitchen]) -> None:
    played = kitchen('p = InteractionObject("Plate")\np.go_to()\n', hidden=["plate_0"])
    played.next()
    played.interpreter.not_found(played.context)
    failed = played.next()
    assert isinstance(failed, Failed)
    assert failed.code is SkillCode.UNKNOWN_ENTITY
    assert "No Plate was found." in failed.text


def test_a_class_that_no_house_has_is_a_failure(kitchen: Callable[..., Kitchen]) -> None:
    failed = kitchen('p = InteractionObject("Poster")\np.go_to()\n').next()
    assert isinstance(failed, Failed)
    assert "No house here has a Poster." in failed.text


def test_what_is_shut_in_is_let_out_first(kitchen: Callable[..., Kitchen]) -> None:
    played = kitchen('apple = InteractionObject("Apple")\napple.pickup()\n')
    assert played.run() == Finished()
    assert played.calls == ["Navigate[cabinet_0]", "Open[cabinet_0]", "Pick[apple_0]"]


def test_a_thing_out_of_reach_is_walked_to_once_more(kitchen: Callable[..., Kitchen]) -> None:
    """HELPER-D5: once, then it is a failure."""
    played = kitchen('p = InteractionObject("Plate")\np.pickup()\n')
    far = SkillResult.failure(SkillCode.TOO_FAR, "plate_0 is too far.")
    for call in ("Navigate", "Pick", "Navigate", "Pick"):
        step = played.next()
        assert isinstance(step, SkillCall)
        assert step.name == call
        played.end(far if call == "Pick" else None)
    assert isinstance(played.next(), Failed)


def test_a_robot_that_others_moved_goes_back(kitchen: Callable[..., Kitchen]) -> None:
    """Such as after a search, whose calls are not the program's."""
    played = kitchen('p = InteractionObject("Plate")\np.go_to()\np.pickup()\n')
    played.next()
    played.end()
    assert str(played.next()) == "Pick[plate_0]"
    played.end(SkillResult.failure(SkillCode.GRASP_FAILED, "The grasp failed."))
    played.next()
    played.world.position[AGENT] = (7.0, 1.0, 0.0)
    repair = parse_program('s = InteractionObject("Sink")\ns.toggle_off()', corrective=True)
    played.interpreter.insert(repair)
    assert str(played.next()) == "Navigate[plate_0]"


def test_a_potato_becomes_no_toast_in_the_middle(kitchen: Callable[..., Kitchen]) -> None:
    """HELPER-C27: refused before anything is done."""
    with pytest.raises(ProgramError):
        kitchen('p = InteractionObject("Potato")\np.toast()')


def test_a_running_call_has_to_end_first(kitchen: Callable[..., Kitchen]) -> None:
    played = kitchen(SLICE)
    played.next()
    with pytest.raises(PlannerError, match="still busy"):
        played.next()


def test_emptying_takes_things_elsewhere(kitchen: Callable[..., Kitchen]) -> None:
    played = kitchen(
        'table = InteractionObject("DiningTable")\ntable.empty()\n',
        things={"apple_0": (ON, "table_0"), "cup_0": (ON, "table_0")},
    )
    assert played.run() == Finished()
    spots = {played.world.things[name][1] for name in ("apple_0", "cup_0")}
    assert spots == {"cabinet_0"}


def test_what_was_sliced_before_is_not_looked_for_whole(kitchen: Callable[..., Kitchen]) -> None:
    things: Spots = {"tomato_slice_0": (ON, "table_0"), "knife_0": (ON, "table_1")}
    states = {"tomato_slice_0": {"sliced": True}}
    played = kitchen(SLICE, hidden=["tomato_slice_0"], things=things, states=states)
    assert isinstance(played.run(), Missing)
    played.world.hidden.clear()
    assert isinstance(played.run(), Finished)
    assert played.calls == []


def test_a_device_that_nobody_has_seen_is_missing(kitchen: Callable[..., Kitchen]) -> None:
    """Once it is known, the slice goes there."""
    things: Spots = {"bread_slice_0": (ON, "table_0"), "toaster_0": (ON, "table_1")}
    played = kitchen(
        'toast = InteractionObject("BreadSliced")\ntoast.toast()\n',
        hidden=["toaster_0"],
        things=things,
    )
    missing = played.run()
    assert isinstance(missing, Missing)
    assert missing.class_name == "Toaster"
    assert played.calls == ["Navigate[bread_slice_0]", "Pick[bread_slice_0]"]
    played.world.hidden.clear()
    assert str(played.next()) == "Navigate[toaster_0]"


@pytest.mark.parametrize(
    ("method", "state"),
    [("toggle_on", {"powered_on": True}), ("toggle_off", {"powered_on": False})],
)
def test_a_lamp_that_is_so_already(
    kitchen: Callable[..., Kitchen], method: str, state: dict[str, bool]
) -> None:
    played = kitchen(
        f'lamp = InteractionObject("DeskLamp")\nlamp.{method}()\n',
        things={"lamp_0": (ON, "table_0")},
        states={"lamp_0": state},
    )
    assert played.run() == Finished()
    assert played.calls == []
    assert [one.outcome for one in played.interpreter.executed] == [Outcome.ALREADY_TRUE]


def test_the_lamp_that_is_not_so_yet_is_meant(kitchen: Callable[..., Kitchen]) -> None:
    played = kitchen(
        'lamp = InteractionObject("DeskLamp")\nlamp.toggle_on()\n',
        things={"lamp_0": (ON, "table_0"), "lamp_1": (ON, "table_1")},
        states={"lamp_0": {"powered_on": True}},
    )
    assert played.run() == Finished()
    assert played.calls == ["Navigate[lamp_1]", "PowerOn[lamp_1]"]


def test_a_plate_bound_again_is_another_one_once_the_first_is_put(
    kitchen: Callable[..., Kitchen],
) -> None:
    one = 'plate = InteractionObject("Plate")\nplate.pickup_and_place(cabinet)\n'
    played = kitchen(
        f'cabinet = InteractionObject("Cabinet")\n{one}{one}',
        things={"plate_0": (ON, "table_0"), "plate_1": (ON, "table_0")},
    )
    assert played.run() == Finished()
    assert {played.world.things[f"plate_{n}"] for n in (0, 1)} == {(IN, "cabinet_0")}


def test_what_is_wanted_clean_is_cleaned_before_it_is_used(
    kitchen: Callable[..., Kitchen],
) -> None:
    played = kitchen(
        'plate = InteractionObject("Plate", attributes=["clean"])\n'
        'table = InteractionObject("DiningTable")\nplate.pickup_and_place(table)\n',
        things={"plate_0": (ON, "chest_of_drawers_0")},
        states={"plate_0": {"clean": False}},
    )
    assert played.run() == Finished()
    assert played.calls.index("Clean[plate_0]") < len(played.calls) - 1
    assert played.calls[-1].startswith("Place[plate_0, on, table_")


def test_what_has_no_room_is_passed_over_for_what_is_put_down(
    kitchen: Callable[..., Kitchen],
) -> None:
    played = kitchen('plate = InteractionObject("Plate")\nplate.pickup()\nplate.put_down()\n')
    full = "No valid placements found for entity table_0."

    def no_room(_agent: str, call: SkillCall) -> SkillResult | None:
        is_full = call.name == "Place" and call.arguments[2] == "table_0"
        return SkillResult.failure(SkillCode.NO_PLACEMENT, full) if is_full else None

    played.world.fault = no_room
    assert played.run() == Finished()
    assert played.world.things["plate_0"] == (ON, "cabinet_0")
    assert played.calls.count("Place[plate_0, on, table_0, None, None]") == 1


def test_a_mug_stands_in_for_a_cup_once_no_cup_was_found(kitchen: Callable[..., Kitchen]) -> None:
    things: Spots = {"cup_0": (ON, "table_0"), "glass_0": (ON, "table_1")}
    played = kitchen(
        'it = InteractionObject("Cup")\nit.go_to()\n', hidden=["glass_0"], things=things
    )
    missing = played.next()
    assert isinstance(missing, Missing)
    assert missing.classes == ("glass", "cup")
    played.interpreter.not_found(played.context)
    assert str(played.next()) == "Navigate[cup_0]"


def test_without_preconditions_nothing_is_left_out(kitchen: Callable[..., Kitchen]) -> None:
    """HELPER-C26: the paper's run without them sends the second `open()` as well."""
    text = 'cabinet = InteractionObject("Cabinet")\ncabinet.open()\ncabinet.open()\n'
    played = kitchen(text, checks=False)
    for _ in range(2):
        assert str(played.next()) == "Open[cabinet_0]"
        played.world.open.add("cabinet_0")
        played.end()
    assert played.next() == Finished()
