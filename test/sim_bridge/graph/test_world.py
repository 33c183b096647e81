"""The graph world's actions: each precondition by its name, and what each action changes."""

from __future__ import annotations

import random
from pathlib import Path

import graph_kitchen as kitchen
import pytest
from graph_kitchen import (
    APPLE,
    APPLE_TO_FRIDGE,
    BOWL,
    FRIDGE,
    GRAB_APPLE,
    KITCHEN,
    LIVING,
    OPEN_FRIDGE,
    PUT_IN,
    WALK_TO_APPLE,
    edge,
    node,
)

from planner.evaluation.scene import world_box
from planner.world.errors import PlannerError
from planner.world.house_checks import load_house
from planner.world.primitive import Primitive, PrimitiveName
from planner.world.state import WorldState
from planner.world.vocabulary import AgentKind, EntityKind, Relation
from sim_bridge.graph.acting import Action, Precondition, Verb, script_action
from sim_bridge.graph.backend import GraphBackend
from sim_bridge.opening import bare_episode


def test_fetching_and_putting_in_changes_the_edges(tmp_path: Path) -> None:
    world = kitchen.world(tmp_path)
    assert world.place_of("apple_13") == (Relation.WITHIN, "bowl_12")
    assert kitchen.play(world, *APPLE_TO_FRIDGE) == [None] * 6
    assert world.place_of("apple_13") == (Relation.HELD, "agent_0")
    assert world.agents["agent_0"].holding == "apple_13"
    assert world.contents_of("bowl_12") == ()
    assert kitchen.play(world, PUT_IN) == [None]
    assert world.place_of("apple_13") == (Relation.WITHIN, "fridge_10")
    assert world.agents["agent_0"].hands == (None,)
    assert set(world.contents_of("fridge_10")) == {"apple_13", "pear_14"}


@pytest.mark.parametrize(
    ("before", "line", "missing"),
    [
        ((), "[grab] <ghost> (99)", Precondition.EXISTS),
        ((), "[walk] <pear> (14)", Precondition.REACHABLE),
        ((), "[grab] <apple> (13)", Precondition.NEAR),
        ((), "[open] <fridge> (10)", Precondition.NEAR),
        (("[walk] <fridge> (10)",), "[grab] <fridge> (10)", Precondition.GRABBABLE),
        (("[walk] <fridge> (10)",), "[grab] <pear> (14)", Precondition.CONTAINER_OPEN),
        (GRAB_APPLE, "[grab] <apple> (13)", Precondition.NOT_HELD),
        (GRAB_APPLE, "[grab] <bowl> (12)", Precondition.FREE_HAND),
        ((*GRAB_APPLE, "[walk] <fridge> (10)"), "[open] <fridge> (10)", Precondition.FREE_HAND),
        ((*GRAB_APPLE, "[walk] <fridge> (10)"), PUT_IN, Precondition.CONTAINER_OPEN),
        ((*OPEN_FRIDGE, *GRAB_APPLE, "[walk] <livingroom> (2)"), PUT_IN, Precondition.NEAR),
        (OPEN_FRIDGE, PUT_IN, Precondition.HELD),
        (OPEN_FRIDGE, "[open] <fridge> (10)", Precondition.IS_CLOSED),
        (("[walk] <fridge> (10)",), "[close] <fridge> (10)", Precondition.IS_OPEN),
        (WALK_TO_APPLE, "[open] <kitchentable> (11)", Precondition.OPENABLE),
        (WALK_TO_APPLE, "[switchon] <kitchentable> (11)", Precondition.HAS_SWITCH),
        (WALK_TO_APPLE, "[wipe] <apple> (13)", Precondition.CLEANABLE),
        (GRAB_APPLE, "[put] <apple> (13) <apple> (13)", Precondition.CAN_HOLD),
    ],
)
def test_the_first_precondition_that_is_violated_is_named(
    before: tuple[str, ...], line: str, missing: Precondition, tmp_path: Path
) -> None:
    world = kitchen.world(tmp_path)
    assert kitchen.play(world, *before) == [None] * len(before)
    state = world.snapshot()
    assert kitchen.play(world, line) == [missing]
    assert world.snapshot().entities == state.entities


def test_a_thing_takes_along_what_is_in_it(tmp_path: Path) -> None:
    world = kitchen.world(tmp_path)
    lines = (*OPEN_FRIDGE, "[walk] <bowl> (12)", "[grab] <bowl> (12)", "[walk] <fridge> (10)")
    assert kitchen.play(world, *lines) == [None] * 5
    assert kitchen.play(world, "[putin] <bowl> (12) <apple> (13)") == [Precondition.CAN_HOLD]
    assert kitchen.play(world, "[putin] <bowl> (12) <fridge> (10)") == [None]
    assert world.place_of("apple_13") == (Relation.WITHIN, "bowl_12")
    apple, bowl = (world.position_m(name) for name in ("apple_13", "bowl_12"))
    assert apple[:2] == pytest.approx(bowl[:2], abs=0.1)
    assert kitchen.play(world, "[close] <fridge> (10)") == [None]
    assert world.enclosing("apple_13") == "fridge_10"
    assert kitchen.play(world, "[grab] <apple> (13)") == [Precondition.CONTAINER_OPEN]


def test_two_hands_hold_two_things_and_no_third(tmp_path: Path) -> None:
    world = kitchen.world(tmp_path, kind=AgentKind.HUMAN)
    lines = (*OPEN_FRIDGE, "[grab] <pear> (14)", *GRAB_APPLE)
    assert kitchen.play(world, *lines) == [None] * 6
    assert kitchen.play(world, "[grab] <bowl> (12)") == [Precondition.FREE_HAND]
    assert world.place_of("pear_14") == world.place_of("apple_13") == (Relation.HELD, "agent_0")
    put = ("[walk] <kitchentable> (11)", "[put] <pear> (14) <kitchentable> (11)")
    assert kitchen.play(world, *put, "[grab] <bowl> (12)") == [None] * 3


def test_what_a_character_holds_at_the_start_is_in_the_agents_hands(tmp_path: Path) -> None:
    document = kitchen.graph()
    document["edges"] += [
        edge(kitchen.ROBOT, "HOLDS_RH", APPLE),
        edge(kitchen.ROBOT, "HOLDS_LH", kitchen.PEAR),
    ]
    world = kitchen.world(tmp_path, document, AgentKind.HUMAN)
    assert world.agents["agent_0"].hands == ("apple_13", "pear_14")
    with pytest.raises(PlannerError, match="agent_0 holds apple_13 and pear_14, and has 1 hand"):
        kitchen.world(tmp_path, document)


def test_ways_lead_through_doors_and_their_lengths_add_up(tmp_path: Path) -> None:
    document = kitchen.graph()
    boxes = {
        KITCHEN: ([2, 1.3, 2], [4, 2.6, 4]),
        LIVING: ([6, 1.3, 2], [4, 2.6, 4]),
        FRIDGE: ([1, 1, 3.5], [1, 2, 1]),
    }
    for item in document["nodes"]:
        if item["id"] in boxes:
            center, size = boxes[item["id"]]
            item["bounding_box"] = {"center": center, "size": size}
        if item["id"] == kitchen.ROBOT:
            item["obj_transform"] = {"position": [6, 0, 1]}
    door = node(30, "door", properties=["CAN_OPEN"], states=["OPEN"])
    door["bounding_box"] = {"center": [4, 1, 1], "size": [0.2, 2, 1]}
    document["nodes"].append(door)
    document["edges"] += [edge(30, "BETWEEN", KITCHEN), edge(30, "BETWEEN", LIVING)]
    world = kitchen.world(tmp_path, document)
    assert world.start.ways.way("livingroom_2", "kitchen_1", (1.0, 3.5)) == ((4, 1), (1.0, 3.5))
    assert kitchen.play(world, "[walk] <kitchen> (1)") == [None]
    assert world.walked_m["agent_0"] == pytest.approx(2 + 5**0.5)
    before = world.walked_m["agent_0"]
    assert kitchen.play(world, "[walk] <fridge> (10)", "[turnright]") == [None, None]
    assert world.gap_m("agent_0", "fridge_10") == pytest.approx(0.6, abs=0.01)
    assert 0 < world.walked_m["agent_0"] - before < 1.5

    document["edges"][-1]["to_id"] = KITCHEN
    cut_off = kitchen.world(tmp_path, document)
    assert kitchen.play(cut_off, "[walk] <kitchen> (1)") == [Precondition.REACHABLE]


def test_twelve_turns_look_all_around_and_walk_nowhere(tmp_path: Path) -> None:
    world = kitchen.world(tmp_path)
    kitchen.play(world, "[walk] <kitchen> (1)")
    walked, yaw = world.walked_m["agent_0"], world.agents["agent_0"].yaw_rad
    seen: set[str] = set()
    for _ in range(12):
        kitchen.play(world, "[turnright]")
        seen.update(world.seen("agent_0"))
    assert seen == {"fridge_10", "kitchentable_11", "bowl_12", "apple_13"}
    assert world.walked_m["agent_0"] == walked
    assert world.agents["agent_0"].yaw_rad == pytest.approx(yaw)


def test_one_view_shows_only_what_is_in_front(tmp_path: Path) -> None:
    world = kitchen.world(tmp_path)
    kitchen.play(world, "[walk] <fridge> (10)")
    assert "fridge_10" in world.seen("agent_0")
    kitchen.play(world, *["[turnright]"] * 6)
    assert "fridge_10" not in world.seen("agent_0")


def test_an_open_fridge_shows_what_is_in_it(tmp_path: Path) -> None:
    world = kitchen.world(tmp_path)
    kitchen.play(world, "[walk] <fridge> (10)")
    assert "pear_14" not in world.seen("agent_0")
    kitchen.play(world, "[open] <fridge> (10)")
    assert "pear_14" in world.seen("agent_0")


def test_states_are_switched(tmp_path: Path) -> None:
    world = kitchen.world(tmp_path)
    lamp = "tablelamp_15"
    assert (
        kitchen.play(world, "[walk] <tablelamp> (15)", "[switchon] <tablelamp> (15)") == [None] * 2
    )
    assert world.snapshot().entities[lamp].states == {"powered_on": True}
    assert kitchen.play(world, "[switchoff] <tablelamp> (15)") == [None]
    assert world.snapshot().entities[lamp].states == {"powered_on": False}


def test_worlds_of_one_start_share_nothing_that_changes(tmp_path: Path) -> None:
    one = kitchen.world(tmp_path)
    first = one.snapshot().entities
    kitchen.play(one, *APPLE_TO_FRIDGE, PUT_IN)
    other = type(one)(one.start, one.episode)
    assert other.snapshot().entities == first
    assert one.snapshot().entities != first


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("grab apple", "is not a script line"),
        ("[knit] <milk> (1) <cup> (2)", "there is no action KNIT"),
        ("[putin] <apple> (13)", "PUTIN takes 2 arguments, got 1"),
        ("[turnright] <apple> (13)", "TURNRIGHT takes 0 arguments, got 1"),
    ],
)
def test_lines_that_say_nothing_are_refused(line: str, reason: str) -> None:
    with pytest.raises(PlannerError, match=reason):
        script_action(line)


def test_script_lines_of_old_verbs_are_read() -> None:
    wanted = Action(Verb.PUT, "washing_sponge_7", f"bowl_{BOWL}")
    assert script_action("<char0> [PutBack] <washing sponge> (7) <bowl> (12)") == wanted


DT_S = 1 / 30


def state_of(backend: GraphBackend) -> WorldState:
    state = backend.world_state()
    assert state is not None
    return state


def next_primitive(backend: GraphBackend, agent: str, rng: random.Random) -> Primitive:
    """Picks up what is near, or walks to a thing."""
    state = state_of(backend)
    me = state.entities[agent]
    things = [e for e in state.entities.values() if e.kind is EntityKind.OBJECT]
    near = [e for e in things if e.room == me.room and e.box.distance_m(me.pose.position_m) < 1.4]
    if near and not me.holding:
        return Primitive(PrimitiveName.PICK, near[0].box.center_m)
    return Primitive(PrimitiveName.NAVIGATE, rng.choice(things).box.center_m)


@pytest.mark.slow
def test_predicted_positions_and_reach_are_those_of_single_steps() -> None:
    house = load_house("train_0")
    backend = GraphBackend()
    backend.reset(house, bare_episode(house, 2), 3)
    rng = random.Random(3)
    handles = dict.fromkeys(backend.agents, -1)
    foreseen, carried = 0, 0
    while backend.now_s() < 60.0:
        for agent, handle in handles.items():
            if handle < 0 or backend.poll(handle).done:
                handles[agent] = backend.start(agent, next_primitive(backend, agent, rng))
        count = backend.steady_steps(DT_S, list(handles))
        reach = backend.reach(DT_S, count)
        expected = [
            {name: backend.predicted_position(name, DT_S * step) for name in backend.agents}
            for step in range(1, count)
        ]
        for ahead in expected:
            backend.step(DT_S)
            entities = state_of(backend).entities
            for agent, (position_m, yaw_rad, _) in ahead.items():
                assert entities[agent].pose.position_m == pytest.approx(position_m, abs=1e-6)
                assert entities[agent].pose.yaw_rad == pytest.approx(yaw_rad, abs=1e-6)
                assert reach[agent].contains((*position_m[:2], 0.0), 1e-6)
            for name in reach.keys() - ahead.keys():
                box = world_box(entities[name])
                assert reach[name].contains(box.minimum_m, 1e-6)
                assert reach[name].contains(box.maximum_m, 1e-6)
                carried += 1
            foreseen += 1
        backend.step(DT_S)
    assert foreseen > 500
    assert carried > 100


def test_what_only_moves_with_an_agent_is_not_handled() -> None:
    house = load_house("train_0")
    backend = GraphBackend()
    backend.reset(house, bare_episode(house, 1), 3)
    state = state_of(backend)
    goal = next(e for e in state.entities.values() if e.kind is EntityKind.OBJECT)
    before = backend.handled_revision, backend.revision
    handle = backend.start("agent_0", Primitive(PrimitiveName.NAVIGATE, goal.box.center_m))
    while not backend.poll(handle).done:
        backend.step(DT_S)
    assert backend.handled_revision == before[0]
    assert backend.revision > before[1]
    picking = backend.start("agent_0", Primitive(PrimitiveName.PICK, goal.box.center_m))
    while not backend.poll(picking).done:
        backend.step(DT_S)
    result = backend.poll(picking).result
    assert result is not None
    assert result.succeeded, result.text
    assert backend.handled_revision > before[0]
