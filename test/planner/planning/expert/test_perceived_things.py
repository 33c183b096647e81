"""The planner `expert` with a memory that takes things for others, and loses them."""

from __future__ import annotations

from collections.abc import Callable

from planning_toys import Outcome, ToyWorld, prop, run_goal

from planner.world.skill import SkillCall, SkillCode, SkillName, SkillResult
from planner.world.vocabulary import AgentKind, Relation

Make = Callable[..., ToyWorld]
ON = Relation.ON
ROBOT = {"agent_0": AgentKind.ROBOT}
TWO = {"agent_0": AgentKind.ROBOT, "agent_1": AgentKind.HUMAN}
MOVE_PEN = [prop("is_on_top", ["pen_0"], ["table_0"])]
MAYBE_PEN = ("tablet", (("book", 0.9), ("pen", 0.5)))


class Perceived:
    """A world whose memory names things by the class that it takes them for."""

    def __init__(self, make: Make, **more: object) -> None:
        self.world = make(names=self._name, **more)

    def _name(self, name: str) -> str:
        class_name, _ = self.world.taken_for.get(name, (name.rpartition("_")[0], ()))
        return f"{class_name}_{150 + list(self.world.things).index(name)}"

    def run(self, goal: list[object]) -> Outcome:
        return run_goal(self.world, goal)


def with_pen(make: Make, agents: dict[str, AgentKind] = ROBOT) -> Perceived:
    toy = Perceived(make, things={"apple_0": (ON, "couch_0"), "pen_0": (ON, "table_1")})
    toy.world.agents = dict(agents)
    toy.world.taken_for["pen_0"] = MAYBE_PEN
    return toy


def explored(outcome: Outcome) -> list[str]:
    return [call for _, call in outcome.calls if "Explore" in call or call.startswith("Open")]


def test_what_may_be_the_missing_thing_is_seen_from_near_before_the_house_is_searched(
    toy_world: Make,
) -> None:
    toy = with_pen(toy_world)

    def recognized(_: str, call: SkillCall) -> None:
        if str(call) == "Navigate[tablet_151]":
            toy.world.near["agent_0"] = "pen_0"
            del toy.world.taken_for["pen_0"]

    toy.world.fault = recognized
    outcome = toy.run(MOVE_PEN)
    assert outcome.done
    assert outcome.calls[0] == ("agent_0", "Navigate[tablet_151]")
    assert "whether tablet_151 is pen_0" in outcome.decisions[0].thought
    assert "Pick[pen_151]" in outcome.of("agent_0")
    assert explored(outcome) == []


def test_what_still_may_be_it_is_taken_when_it_was_found_nowhere(toy_world: Make) -> None:
    outcome = with_pen(toy_world).run(MOVE_PEN)
    assert outcome.done
    calls = outcome.of("agent_0")
    assert calls[0] == "Navigate[tablet_151]"
    assert calls.count("Navigate[tablet_151]") == 2
    assert explored(outcome)
    assert calls.index("Pick[tablet_151]") > max(map(calls.index, explored(outcome)))
    assert outcome.world.things["pen_0"] == (ON, "table_0")
    assert any("take tablet_151 for pen_0" in d.thought for d in outcome.decisions)


def test_what_is_taken_for_something_else_once_it_is_held_is_put_down_as_asked(
    toy_world: Make,
) -> None:
    toy = with_pen(toy_world)
    del toy.world.taken_for["pen_0"]

    def mistaken(agent: str, call: SkillCall) -> SkillResult | None:
        if call.name != SkillName.PICK:
            return None
        toy.world.things["pen_0"] = (Relation.HELD, agent)
        toy.world.taken_for["pen_0"] = MAYBE_PEN
        return SkillResult.success()

    toy.world.fault = mistaken
    outcome = toy.run(MOVE_PEN)
    assert outcome.done, outcome.failure
    calls = outcome.of("agent_0")
    assert any("Place[tablet_151, on, table_0" in call for call in calls)
    assert explored(outcome) == []


def test_only_one_agent_walks_up_to_what_may_be_it(toy_world: Make) -> None:
    outcome = with_pen(toy_world, TWO).run(MOVE_PEN)
    assert outcome.done
    first = [call for _, call in outcome.calls[:2]]
    assert sum("tablet_151" in call for call in first) == 1
    assert sum("Explore" in call for call in first) == 1


def test_what_stands_for_another_thing_of_the_goal_is_not_taken(toy_world: Make) -> None:
    goal = [*MOVE_PEN, prop("is_on_top", ["tablet_0"], ["couch_0"])]
    outcome = with_pen(toy_world).run(goal)
    assert not outcome.done
    assert "pen_0 found nowhere" in outcome.failure
    assert outcome.world.things["pen_0"] == (ON, "couch_0")


def test_what_may_be_something_else_is_left_alone(toy_world: Make) -> None:
    toy = with_pen(toy_world)
    toy.world.taken_for["pen_0"] = ("tablet", (("book", 0.9),))
    outcome = toy.run(MOVE_PEN)
    assert not outcome.done
    assert not [call for _, call in outcome.calls if "tablet" in call]


def test_what_cannot_be_walked_up_to_is_reached_otherwise_after_some_tries(toy_world: Make) -> None:
    toy = with_pen(toy_world)

    def blocked(_: str, call: SkillCall) -> SkillResult | None:
        near = str(call) == "Navigate[tablet_151]"
        return SkillResult.failure(SkillCode.UNREACHABLE, "No way.") if near else None

    toy.world.fault = blocked
    outcome = toy.run(MOVE_PEN)
    assert outcome.done
    assert outcome.of("agent_0").count("Navigate[tablet_151]") < 10


class Losing:
    """A memory that loses the cup once, when it is to be picked."""

    def __init__(self, make: Make, to: str) -> None:
        self.toy = Perceived(make, things={"cup_0": (ON, "table_0"), "apple_0": (ON, "couch_0")})
        self.world, self._to = self.toy.world, to
        self.world.agents = dict(ROBOT)
        self.world.hidden.add("cup_0")
        self.world.fault = self
        self.lost = False
        self.looks: list[str] = []

    def __call__(self, agent: str, call: SkillCall) -> SkillResult | None:
        if self.lost and call.name in (SkillName.EXPLORE_FURNITURE, SkillName.OPEN):
            self.looks.append(str(call.arguments[0]))
        if call.name != SkillName.PICK or self.lost:
            return None
        self.lost = True
        self.world.hidden.add("cup_0")
        self.world.things["cup_0"] = (ON, self._to)
        return SkillResult.failure(SkillCode.UNKNOWN_ENTITY, "It is not there.")

    def run(self) -> Outcome:
        return self.toy.run([prop("is_on_top", ["cup_0"], ["table_1"])])


def test_what_is_no_longer_remembered_is_looked_for_where_it_was(toy_world: Make) -> None:
    losing = Losing(toy_world, "table_0")
    outcome = losing.run()
    assert outcome.done
    assert losing.looks == ["table_0"]


def test_what_was_lost_is_looked_for_everywhere_again(toy_world: Make) -> None:
    room = toy_world().house.rooms[0].name
    losing = Losing(toy_world, f"floor_{room}")
    outcome = losing.run()
    assert outcome.done, outcome.failure
    assert losing.looks[0] == "table_0"


def test_slices_come_from_the_thing_that_the_memory_gave_another_name(toy_world: Make) -> None:
    toy = Perceived(toy_world, things={"bread_0": (ON, "table_0"), "knife_0": (ON, "table_0")})

    def slices(_: str, call: SkillCall) -> None:
        if call.name == "Slice":
            toy.world.hidden.add("bread_0")
            toy.world.things |= {f"bread_slice_{i}": (ON, "table_0") for i in range(10)}

    toy.world.fault = slices
    outcome = toy.run([prop("is_on_top", ["bread_slice_3"], ["couch_0"])])
    assert outcome.done, outcome.failure
    assert explored(outcome) == []
    assert sum(call.startswith("Slice[bread_150") for _, call in outcome.calls) == 1


def test_other_slices_of_what_was_sliced_are_looked_for(toy_world: Make) -> None:
    toy = Perceived(
        toy_world, things={"bread_0": (ON, "table_0"), "bread_slice_3": (ON, "table_0")}
    )
    toy.world.hidden.add("bread_0")
    names = ["bread_slice_3", "bread_slice_4"]
    outcome = toy.run([prop("is_on_top", names, ["couch_0"], number=2)])
    assert not outcome.done
    assert "bread_slice_4 found nowhere" in outcome.failure
