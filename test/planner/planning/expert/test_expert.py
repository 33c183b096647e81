"""The planner `expert` in a toy world: what it does with every kind of goal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from planning_toys import Outcome, ToyWorld, play, prop, run_goal, task_of

from planner.planning.expert.expert import Expert
from planner.world.skill import SkillCall, SkillCode, SkillResult
from planner.world.vocabulary import AgentKind, EntityKind, Relation

Make = Callable[..., ToyWorld]
ON, WITHIN = Relation.ON, Relation.WITHIN


def placed(outcome: Outcome, thing: str) -> tuple[Relation, str]:
    return outcome.world.things[thing]


def order(outcome: Outcome, *texts: str) -> list[int]:
    said = [call for _, call in outcome.calls]
    return [next(i for i, call in enumerate(said) if call.startswith(text)) for text in texts]


def test_brings_a_known_thing_and_ends_with_done_for_everybody(toy_world: Make) -> None:
    outcome = run_goal(toy_world(), [prop("is_on_top", ["cup_0"], ["table_1"])])
    assert outcome.done
    carrier = next(who for who, call in outcome.calls if call == "Pick[cup_0]")
    assert outcome.of(carrier) == [
        "Navigate[cup_0]",
        "Pick[cup_0]",
        "Navigate[table_1]",
        "Place[cup_0, on, table_1, None, None]",
        "Done[]",
    ]
    assert outcome.calls[-1][1] == outcome.calls[-2][1] == "Done[]"


def test_what_holds_already_is_left_alone(toy_world: Make) -> None:
    outcome = run_goal(toy_world(), [prop("is_on_top", ["cup_0"], ["table_0"])])
    assert [call for _, call in outcome.calls] == ["Done[]", "Done[]"]


def test_opens_all_that_it_has_to_before_its_only_hand_is_full(toy_world: Make) -> None:
    outcome = run_goal(
        toy_world(), [prop("is_inside", ["spoon_0"], ["cabinet_0"])], agents=["agent_0"]
    )
    assert outcome.done
    steps = order(
        outcome, "Open[cabinet_0]", "Open[chest", "Pick[spoon_0]", "Place[spoon_0, within, cabinet"
    )
    assert steps == sorted(steps)


TWO_THINGS = [
    prop("is_on_top", ["cup_0"], ["table_1"]),
    prop("is_on_top", ["apple_0"], ["couch_0"]),
]


def test_two_hands_bring_two_things_on_one_walk(toy_world: Make) -> None:
    outcome = run_goal(toy_world(), TWO_THINGS, agents=["agent_1"])
    assert outcome.done
    names = [call.partition("[")[0] for call in outcome.of("agent_1")]
    steps = ["Navigate", "Pick", "Navigate", "Pick", "Navigate", "Place", "Navigate", "Place"]
    assert names == [*steps, "Done"]


def test_one_hand_walks_twice(toy_world: Make) -> None:
    outcome = run_goal(toy_world(), TWO_THINGS, agents=["agent_0"])
    assert outcome.done
    names = [call.partition("[")[0] for call in outcome.of("agent_0")]
    assert names == ["Navigate", "Pick", "Navigate", "Place"] * 2 + ["Done"]


def test_two_hands_leave_a_thing_to_the_agent_that_has_no_other(toy_world: Make) -> None:
    outcome = run_goal(toy_world(), TWO_THINGS)
    assert outcome.done
    for agent in ("agent_0", "agent_1"):
        assert len([call for call in outcome.of(agent) if call.startswith("Pick")]) == 1


def test_two_hands_are_never_full_where_something_must_be_opened(toy_world: Make) -> None:
    goal = [
        prop("is_inside", ["cup_0"], ["cabinet_0"]),
        prop("is_inside", ["apple_0"], ["chest_of_drawers_0"]),
    ]
    outcome = run_goal(toy_world(), goal, agents=["agent_1"])
    assert outcome.done
    assert {code for _, _, code in outcome.world.log} == {SkillCode.SUCCESS}


def test_a_loaded_agent_frees_a_hand_to_open_what_it_searches(toy_world: Make) -> None:
    world = toy_world("spoon_0")
    world.things["cup_0"] = world.things["book_0"] = (Relation.HELD, "agent_1")
    goal = [prop("is_on_top", ["spoon_0"], ["table_0"])]
    outcome = run_goal(world, goal, agents=["agent_1"])
    assert outcome.done
    steps = order(outcome, "Place[", "Open[chest_of_drawers_0]", "Pick[spoon_0]")
    assert steps == sorted(steps)
    assert {code for _, _, code in world.log} == {SkillCode.SUCCESS}


def test_looks_for_an_unknown_thing_open_places_first(toy_world: Make) -> None:
    outcome = run_goal(
        toy_world("spoon_0"), [prop("is_on_top", ["spoon_0"], ["table_0"])], agents=["agent_0"]
    )
    assert outcome.done
    looks = [call for call in outcome.of("agent_0") if "Explore" in call or "Open" in call]
    assert looks[0].startswith("ExploreFurniture")
    assert looks.index("Open[chest_of_drawers_0]") == len(looks) - 1


def test_says_what_was_found_nowhere(toy_world: Make) -> None:
    world = toy_world("apple_0")
    world.things["apple_0"] = (WITHIN, "nowhere_0")
    outcome = run_goal(world, [prop("is_on_top", ["apple_0"], ["table_1"])])
    assert "apple_0 found nowhere in the house" in outcome.failure


def test_ends_a_search_once_every_place_was_looked_at(toy_world: Make) -> None:
    world = toy_world("apple_0")
    world.things["apple_0"] = (WITHIN, "nowhere_0")
    wanted = [prop("is_on_top", [name], ["table_1"]) for name in ("apple_0", "cup_0")]
    outcome = run_goal(world, wanted, agents=["agent_0"])
    assert "every place in reach was looked at" in outcome.failure
    assert placed(outcome, "cup_0") == (ON, "table_1")
    # What shuts is looked at from outside, opened, and looked into.
    shut = {piece.name for piece in world.house.furniture if piece.joints}
    calls = [call for call in outcome.of("agent_0") if call.startswith(("Explore", "Open"))]
    assert {f"Open[{name}]" for name in shut} <= set(calls)
    for call in set(calls):
        may_repeat = call.startswith("Explore") and call.partition("[")[2][:-1] in shut
        assert calls.count(call) <= (2 if may_repeat else 1), call


@pytest.mark.parametrize("comes", [True, False])
def test_searches_once_more_where_somebody_else_moved(toy_world: Make, comes: bool) -> None:
    world = toy_world("apple_0")
    world.things["apple_0"] = (WITHIN, "nowhere_0")

    def walks(_agent: str, call: SkillCall) -> None:
        x, y, z = world.position["agent_1"]
        world.position["agent_1"] = (x + 0.3, y, z)
        if comes and str(call) == "Open[chest_of_drawers_0]":
            # It was looked at already.
            world.things["apple_0"] = (ON, "couch_0")

    world.fault = walks
    outcome = run_goal(world, [prop("is_on_top", ["apple_0"], ["table_1"])], agents=["agent_0"])
    assert outcome.done is comes
    opened = outcome.of("agent_0").count("Open[chest_of_drawers_0]")
    assert outcome.of("agent_0").count("ExploreFurniture[couch_0]") == 2
    assert opened == 1


def test_two_share_the_work(toy_world: Make) -> None:
    outcome = run_goal(
        toy_world(),
        [prop("is_on_top", ["cup_0"], ["couch_0"]), prop("is_on_top", ["book_0"], ["table_0"])],
    )
    assert outcome.done
    pickers = {call: who for who, call in outcome.calls if call.startswith("Pick")}
    assert len(set(pickers.values())) == 2


def test_only_the_person_changes_states_and_the_robot_does_the_rest(toy_world: Make) -> None:
    world = toy_world(states={"cup_0": {"clean": False}})
    outcome = run_goal(
        world,
        [
            prop("is_clean", ["cup_0"]),
            prop("is_powered_on", ["lamp_0"]),
            prop("is_on_top", ["book_0"], ["table_0"]),
        ],
    )
    assert outcome.done
    by = {call: who for who, call in outcome.calls}
    assert by["Clean[cup_0]"] == by["PowerOn[lamp_0]"] == "agent_1"
    assert by["Pick[book_0]"] == "agent_0"


def test_a_robot_alone_says_that_it_cannot_switch_on(toy_world: Make) -> None:
    outcome = run_goal(toy_world(), [prop("is_powered_on", ["lamp_0"])], agents=["agent_0"])
    assert "PowerOn" in outcome.failure
    assert not outcome.calls


def test_fills_at_a_faucet_and_brings_it_full(toy_world: Make) -> None:
    outcome = run_goal(
        toy_world(),
        [prop("is_filled", ["cup_0"]), prop("is_in_room", ["cup_0"], ["living_room_0"])],
        constraints=[{"type": "TemporalConstraint", "edges": [[0, 1]]}],
    )
    assert outcome.done
    steps = order(outcome, "Pick[cup_0]", "Navigate[sink_0]", "Fill[cup_0]", "Place[cup_0")
    assert steps == sorted(steps)


def test_empties_one_thing_into_another_and_puts_it_down(toy_world: Make) -> None:
    world = toy_world(states={"cup_0": {"filled": True}})
    world.things["glass_0"] = (ON, "table_1")
    outcome = run_goal(world, [prop("is_empty", ["cup_0"])])
    assert outcome.done
    assert world.states["glass_0"]["filled"]
    assert placed(outcome, "cup_0")[0] is ON


def test_pours_what_is_asked_for_from_what_has_it(toy_world: Make) -> None:
    full = {"filled": True}
    world = toy_world(
        states={
            "bottle_0": {**full, "filled_with_water": True},
            "glass_0": {**full, "filled_with_milk": True},
        }
    )
    world.things |= {"bottle_0": (ON, "table_0"), "glass_0": (ON, "table_1")}
    outcome = run_goal(world, [prop("is_filled_with_milk", ["cup_0"])])
    assert outcome.done
    assert world.states["cup_0"]["filled_with_milk"]
    assert not world.states["glass_0"].get("filled")


def test_looks_for_what_has_milk_where_nothing_known_has_any(toy_world: Make) -> None:
    states = {
        "bottle_0": {"filled": True, "filled_with_water": True},
        "jug_0": {"filled": True, "filled_with_milk": True},
    }
    world = toy_world("jug_0", states=states)
    world.things |= {"bottle_0": (ON, "table_0"), "jug_0": (WITHIN, "cabinet_0")}
    outcome = run_goal(world, [prop("is_filled_with_milk", ["cup_0"])])
    assert outcome.done
    assert world.states["cup_0"]["filled_with_milk"]


def test_says_that_there_is_nothing_with_milk(toy_world: Make) -> None:
    outcome = run_goal(toy_world(), [prop("is_filled_with_milk", ["cup_0"])])
    assert "something with milk in it found nowhere in the house" in outcome.failure


def test_groups_come_one_after_the_other(toy_world: Make) -> None:
    outcome = run_goal(
        toy_world(),
        [
            prop("is_on_top", ["cup_0"], ["couch_0"]),
            prop("is_on_top", ["apple_0"], ["couch_0"]),
            prop("is_on_top", ["book_0"], ["table_0"]),
        ],
        constraints=[{"type": "TemporalConstraint", "groups": [[0, 1], [2]]}],
    )
    assert outcome.done
    steps = order(outcome, "Place[cup_0", "Place[apple_0", "Place[book_0")
    assert steps[2] > max(steps[:2])


def test_after_satisfied_brings_things_back(toy_world: Make) -> None:
    """PARTNR-E2: together to a room, then back."""
    both = ["cup_0"], ["apple_0"]
    outcome = run_goal(
        toy_world(),
        [
            prop("is_in_room", both[0], ["living_room_0"]),
            prop("is_in_room", both[1], ["living_room_0"]),
            prop("is_next_to", *both),
            prop("is_in_room", both[0], ["kitchen_0"]),
            prop("is_in_room", both[1], ["kitchen_0"]),
        ],
        dependencies=[
            gate([2], [0, 1], "while_satisfied"),
            gate([3, 4], [0, 1], "after_satisfied"),
        ],
        constraints=[{"type": "TerminalSatisfactionConstraint", "proposition_indices": [3, 4]}],
    )
    assert outcome.done
    assert sum("next_to" in call for _, call in outcome.calls) == 1
    assert outcome.world.house.furniture_by_name[placed(outcome, "cup_0")[1]].room == "kitchen_0"
    # The last of it counts one moment after what it waited for (PARTNR-E6).
    assert any(call == "Wait[]" for _, call in outcome.calls)


def test_after_unsatisfied_clears_the_place_first(toy_world: Make) -> None:
    outcome = run_goal(
        toy_world(),
        [
            prop("is_on_top", ["cup_0"], ["table_0"]),
            prop("is_on_top", ["book_0"], ["table_0"]),
        ],
        dependencies=[gate([1], [0], "after_unsatisfied")],
        constraints=[{"type": "TerminalSatisfactionConstraint", "proposition_indices": [1]}],
    )
    assert outcome.done
    assert placed(outcome, "cup_0")[1] != "table_0"
    steps = order(outcome, "Pick[cup_0]", "Place[book_0")
    assert steps == sorted(steps)


def test_next_to_names_what_is_there_already(toy_world: Make) -> None:
    outcome = run_goal(
        toy_world(),
        [
            prop("is_on_top", ["cup_0"], ["table_1", "couch_0"]),
            prop("is_on_top", ["apple_0"], ["table_1", "couch_0"]),
            prop("is_next_to", ["cup_0"], ["apple_0"]),
        ],
        dependencies=[gate([2], [0, 1], "while_satisfied")],
    )
    assert outcome.done
    assert placed(outcome, "cup_0")[1] == placed(outcome, "apple_0")[1]
    places = [call for _, call in outcome.calls if call.startswith("Place")]
    assert "None, None" in places[0]
    assert "next_to" in places[1]


def beside_the_sink(toy_world: Make, x_m: float) -> ToyWorld:
    """The small house with its cabinet at another place beside the sink, which has a rim."""
    world = toy_world()
    furniture = tuple(
        piece.model_copy(update={"x_m": x_m}) if piece.name == "cabinet_0" else piece
        for piece in world.house.furniture
    )
    world.house = world.house.model_copy(update={"furniture": furniture})
    return world


@pytest.mark.parametrize(
    ("furniture", "place"),
    [
        ("sink_0", "Place[cup_0, on, sink_0, None, None]"),
        ("couch_0", "Place[cup_0, on, floor_living_room_0, next_to, couch_0]"),
    ],
)
def test_next_to_a_basin_may_be_its_rim(toy_world: Make, furniture: str, place: str) -> None:
    outcome = run_goal(toy_world(), [prop("is_next_to", ["cup_0"], [furniture])])
    places = [call for _, call in outcome.calls if call.startswith("Place")]
    assert places[0] == place


def test_next_to_furniture_is_on_its_neighbour_if_the_rim_is_full(toy_world: Make) -> None:
    def full(agent: str, call: SkillCall) -> SkillResult | None:
        if call.name == "Place" and call.arguments[2] == "sink_0":
            return SkillResult(SkillCode.NO_PLACEMENT, "no room")
        return None

    world = beside_the_sink(toy_world, 1.7)
    world.fault = full
    outcome = run_goal(world, [prop("is_next_to", ["cup_0"], ["sink_0"])])
    assert "Place[cup_0, on, cabinet_0, next_to, sink_0]" in [call for _, call in outcome.calls]


def test_equal_refusals_end_with_the_reason(toy_world: Make) -> None:
    def refused(agent: str, call: SkillCall) -> SkillResult | None:
        if call.name == "Place":
            return SkillResult(SkillCode.REFERENCE_ELSEWHERE, "It has no place next to sink_0.")
        return None

    world = beside_the_sink(toy_world, 1.7)
    world.fault = refused
    outcome = run_goal(world, [prop("is_next_to", ["cup_0"], ["sink_0"])])
    assert "It has no place next to sink_0." in outcome.failure
    counts = Counter(outcome.calls)
    assert max(n for (_, call), n in counts.items() if call.startswith("Place")) <= 4


def test_same_argument_takes_one_table_for_both(toy_world: Make) -> None:
    outcome = run_goal(
        toy_world(),
        [
            prop("is_on_top", ["cup_0"], ["table_1", "couch_0"]),
            prop("is_on_top", ["book_0"], ["couch_0", "table_0"]),
        ],
        constraints=[tie("Same", [0, 1], [1, 1])],
    )
    assert outcome.done
    assert placed(outcome, "cup_0") == placed(outcome, "book_0") == (ON, "couch_0")


def test_a_common_room_is_one_that_the_other_wishes_allow(toy_world: Make) -> None:
    rooms = ["kitchen_0", "living_room_0"]
    outcome = run_goal(
        toy_world(),
        [
            prop("is_in_room", ["cup_0"], rooms),
            prop("is_in_room", ["apple_0"], rooms),
            prop("is_on_top", ["cup_0"], ["table_1"]),
        ],
        constraints=[tie("Same", [0, 1], [1, 1])],
    )
    assert outcome.done
    spot = placed(outcome, "apple_0")[1]
    assert outcome.world.house.furniture_by_name[spot].room == "living_room_0"


def test_different_arguments_get_a_place_each(toy_world: Make) -> None:
    tables = ["table_0", "table_1", "couch_0"]
    outcome = run_goal(
        toy_world(),
        [prop("is_on_top", [name], tables) for name in ("cup_0", "apple_0", "book_0")],
        constraints=[tie("Different", [0, 1, 2], [1, 1, 1])],
    )
    assert outcome.done
    assert len({placed(outcome, name)[1] for name in ("cup_0", "apple_0", "book_0")}) == 3


def test_number_with_the_same_receptacle(toy_world: Make) -> None:
    outcome = run_goal(
        toy_world(),
        [
            prop(
                "is_on_top",
                ["cup_0", "apple_0", "book_0"],
                ["table_1", "couch_0"],
                number=2,
                is_same_receptacle=True,
            )
        ],
    )
    assert outcome.done
    # The book is on a table already: one more is enough.
    assert sum(call.startswith("Pick") for _, call in outcome.calls) == 1


def test_an_or_list_spares_what_another_wish_needs(toy_world: Make) -> None:
    outcome = run_goal(
        toy_world(),
        [
            prop("is_on_top", ["cup_0", "apple_0"], ["couch_0"]),
            prop("is_on_top", ["cup_0"], ["table_1"]),
        ],
    )
    assert outcome.done
    assert placed(outcome, "apple_0")[1] == "couch_0"


@pytest.mark.parametrize("hidden", [(), ("cup_1",)])
def test_each_of_two_wishes_gets_a_thing_of_its_own(
    toy_world: Make, hidden: tuple[str, ...]
) -> None:
    cups = {"cup_0": (ON, "table_0"), "cup_1": (ON, "table_1")}
    world = toy_world(*hidden, things=cups, agents={"agent_0": AgentKind.ROBOT})
    either = ["cup_0", "cup_1"]
    outcome = run_goal(
        world,
        [prop("is_on_top", either, ["couch_0"]), prop("is_inside", either, ["sink_0"])],
    )
    assert outcome.done
    assert set(world.things.values()) == {(ON, "couch_0"), (WITHIN, "sink_0")}
    assert sum(call.startswith("Pick") for _, call in outcome.calls) == 2


def test_on_the_floor_and_clustered(toy_world: Make) -> None:
    outcome = run_goal(
        toy_world(),
        [
            prop("is_on_floor", ["book_0"]),
            {
                "function_name": "is_clustered",
                "args": {"entities": [["cup_0"], ["apple_0"], ["lamp_0"]]},
            },
        ],
    )
    assert outcome.done
    assert placed(outcome, "book_0")[1].startswith("floor_")
    assert len({placed(outcome, n)[1] for n in ("cup_0", "apple_0", "lamp_0")}) == 1


def test_a_closed_lid_that_the_belief_calls_open_is_opened(toy_world: Make) -> None:
    world = toy_world()
    world.believed_open = {"cabinet_0"}
    outcome = run_goal(world, [prop("is_inside", ["cup_0"], ["cabinet_0"])], agents=["agent_0"])
    assert outcome.done
    assert "Open[cabinet_0]" in outcome.of("agent_0")


def test_names_of_a_learned_memory_stand_for_their_class(toy_world: Make) -> None:
    world = toy_world(things={"cup_7": (ON, "table_0"), "cup_8": (ON, "table_0")})
    world.names = {"cup_7": "cup_150", "cup_8": "cup_151"}.__getitem__
    goal = [prop("is_on_top", ["cup_0"], ["table_1"]), prop("is_on_top", ["cup_1"], ["table_1"])]
    outcome = run_goal(world, goal)
    assert outcome.done
    assert {placed(outcome, "cup_7"), placed(outcome, "cup_8")} == {(ON, "table_1")}


def test_true_names_never_stand_for_another_thing(toy_world: Make) -> None:
    world = toy_world(things={"cup_1": (ON, "table_0")})
    outcome = run_goal(world, [prop("is_on_top", ["cup_0"], ["table_1"])])
    assert "cup_0 found nowhere" in outcome.failure


def test_without_a_goal_it_says_what_it_needs(toy_world: Make) -> None:
    world = toy_world()
    task = task_of(world, {})
    outcome = play(Expert(task.__class__("Tidy up.", task.agents)), world, task)
    for word in ("episode", "react", "model", "model_url"):
        assert word in outcome.failure


def gate(subgoals: list[int], heads: list[int], relation: str) -> dict[str, object]:
    return {"proposition_indices": subgoals, "depends_on": heads, "relation_type": relation}


def tie(kind: str, subgoals: list[int], arguments: list[int]) -> dict[str, object]:
    return {
        "type": f"{kind}ArgConstraint",
        "proposition_indices": subgoals,
        "arg_indices": arguments,
    }


@pytest.mark.parametrize("kind", [AgentKind.ROBOT, AgentKind.HUMAN])
def test_one_agent_of_either_kind_is_enough_to_move_things(
    toy_world: Make, kind: AgentKind
) -> None:
    world = toy_world(agents={"agent_0": kind})
    outcome = run_goal(
        world,
        [prop("is_on_top", [name], ["couch_0"]) for name in ("cup_0", "apple_0", "book_0")],
    )
    assert outcome.done
    assert world.belief().of_kind(EntityKind.AGENT)[0].holding is None


def test_opens_and_closes(toy_world: Make) -> None:
    world = toy_world()
    world.open.add("chest_of_drawers_0")
    goal = [prop("is_open", ["cabinet_0"]), prop("is_closed", ["chest_of_drawers_0"])]
    assert run_goal(world, goal).done
    assert world.open == {"cabinet_0"}


def test_closes_what_it_opened_itself_only_when_all_is_in(toy_world: Make) -> None:
    goal = [
        prop("is_closed", ["cabinet_0"]),
        prop("is_inside", ["cup_0"], ["cabinet_0"]),
        prop("is_inside", ["spoon_0"], ["cabinet_0"]),
    ]
    world = toy_world("spoon_0")
    outcome = run_goal(world, goal)
    assert outcome.done
    calls = [call for _, call in outcome.calls]
    assert calls.count("Close[cabinet_0]") == 1
    assert calls.index("Close[cabinet_0]") > max(
        i for i, call in enumerate(calls) if call.startswith("Place")
    )


def test_opens_takes_out_and_closes_in_that_order(toy_world: Make) -> None:
    chest = "chest_of_drawers_0"
    goal = [
        prop("is_open", [chest]),
        prop("is_on_top", ["spoon_0"], ["table_0"]),
        prop("is_closed", [chest]),
    ]
    lasting = [
        {"type": "TemporalConstraint", "groups": [[0], [1], [2]]},
        {"type": "TerminalSatisfactionConstraint", "proposition_indices": [1, 2]},
    ]
    world = toy_world()
    outcome = run_goal(world, goal, constraints=lasting)
    assert outcome.done
    assert order(outcome, f"Open[{chest}]", "Place[", f"Close[{chest}]") == sorted(
        order(outcome, f"Open[{chest}]", "Place[", f"Close[{chest}]")
    )
    assert not world.open


def test_gives_up_closing_where_the_memory_never_shows_it(toy_world: Make) -> None:
    world = toy_world()
    world.believed_open.add("cabinet_0")
    outcome = run_goal(world, [prop("is_closed", ["cabinet_0"])])
    assert "the memory does not show its effect" in outcome.failure
