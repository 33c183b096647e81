"""PARTNR's world graph in its partial and ConceptGraph modes: PARTNR-C30 to PARTNR-C34."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from memory_samples import LENS, agent_state, layout_of, thing, world_of

from planner.memory.features import GroundTruthFeatures, ObjectGraph
from planner.memory.memory import Memory
from planner.memory.privileged import PrivilegedUpdater
from planner.memory.updater import Facts, Operation
from planner.parts.calls import parse_call
from planner.planning.belief_text import summary, world_description
from planner.world.belief import OperationKind
from planner.world.furnishing import look_of_piece
from planner.world.geometry import Pose, Vec3
from planner.world.house import House
from planner.world.observation import CameraFrame, Observation, Sighting
from planner.world.shapes import Color, Look, Material
from planner.world.skill import SkillCode, SkillResult
from planner.world.state import WorldState
from planner.world.vocabulary import EntityKind, Relation

HOUSE = layout_of(2)
OK = SkillResult.success()
FAILED = SkillResult.failure(SkillCode.TOO_FAR, "It is too far.")


class Partial:
    """A memory in partial mode before a world; `seen` is what the robot's camera shows."""

    def __init__(self, state: WorldState, layout: House = HOUSE) -> None:
        self.state = state
        self.seen: list[str] = []
        self.now_s = 0.0
        updater = PrivilegedUpdater(lambda: self.state, sightings=self._sightings)
        self.memory = Memory(layout, updater)
        self.look()

    def _sightings(self, _agent: str) -> list[Sighting]:
        places = {n: self.state.entities[n].pose.position_m for n in self.seen}
        return [Sighting(n, 0.05, 2.0, (9.0, 9.0), at) for n, at in places.items()]

    def look(self, *names: str) -> None:
        self.seen = [*names]
        self.now_s += 1.0
        self.memory.observe(Observation.at_rest(self.now_s))

    def do(self, call: str, result: SkillResult = OK, agent: str = "agent_0") -> None:
        self.now_s += 1.0
        self.memory.note_result(agent, parse_call(call), result, self.now_s)

    def parent(self, name: str) -> tuple[str | None, Relation | None]:
        node = self.memory.belief(self.now_s).nodes[name]
        return node.parent, node.relation


def cup_on(parent: str, at: Vec3) -> WorldState:
    return world_of(thing("cup_0", 7, at, parent), agent_state("agent_0", (0.0, 0.0, 0.0)))


def test_30_partial_begins_with_rooms_and_furniture_only_and_full_knows_all() -> None:
    state = cup_on("table_0", (1.0, 1.0, 0.75))
    run = Partial(state)
    belief = run.memory.belief(1.0)
    assert {"hall_0", "floor_hall_0", "table_0", "table_1"} <= belief.nodes.keys()
    assert belief.of_kind(EntityKind.OBJECT) == []
    assert "No objects found yet" in world_description(belief)
    # The full mode's part of the check: what is told of everything has its true parent.
    run.look("cup_0")
    assert run.parent("cup_0") == ("table_0", Relation.ON)


def test_the_look_of_a_seen_thing_stays_known_when_it_is_carried() -> None:
    state = cup_on("table_0", (1.0, 1.0, 0.75))
    red = Look(Color.RED, Material.CERAMIC)
    cup = replace(state.entities["cup_0"], look=red)
    run = Partial(replace(state, entities={**state.entities, "cup_0": cup}))
    run.look("cup_0")
    run.do("Pick[cup_0]")
    run.do("Place[cup_0, on, table_1, None, None]")
    nodes = run.memory.belief(run.now_s).nodes
    assert nodes["cup_0"].look == red
    assert nodes["table_0"].look == look_of_piece(HOUSE.furniture_by_name["table_0"])


def test_31_a_place_out_of_sight_is_believed_and_a_failed_one_is_not() -> None:
    run = Partial(cup_on("table_0", (1.0, 1.0, 0.75)))
    run.look("cup_0")
    run.do("Pick[cup_0]")
    assert run.parent("cup_0") == ("agent_0", Relation.HELD)
    run.do("Place[cup_0, on, table_1, None, None]", FAILED)
    assert run.parent("cup_0") == ("agent_0", Relation.HELD)
    run.do("Place[cup_0, on, table_1, None, None]")
    assert run.parent("cup_0") == ("table_1", Relation.ON)
    assert run.memory.belief(run.now_s).nodes["agent_0"].holding is None


def test_32_a_partners_actions_arrive_and_a_passer_bys_do_not() -> None:
    run = Partial(cup_on("table_0", (1.0, 1.0, 0.75)))
    run.look("cup_0")
    run.do("Clean[cup_0]", agent="agent_1")
    run.do("Open[table_0]", agent="agent_1")
    nodes = run.memory.belief(run.now_s).nodes
    assert nodes["cup_0"].states["clean"]
    assert nodes["table_0"].openness == 1.0
    run.do("Rearrange[cup_0, on, table_1, None, None]", agent="agent_1")
    assert run.parent("cup_0") == ("table_1", Relation.ON)
    run.state = cup_on("floor_hall_0", (9.0, 9.0, 0.0))
    run.look()
    assert run.parent("cup_0") == ("table_1", Relation.ON)


def frame_at(u: int, v: int) -> CameraFrame:
    """From 4 m above (5, 5), a backpack that hangs 2 m high at a pixel."""
    instances = np.zeros((384, 384), np.int32)
    depth = np.full((384, 384), 4.0, np.float32)
    instances[v - 10 : v + 10, u - 10 : u + 10] = 1
    depth[v - 10 : v + 10, u - 10 : u + 10] = 2.0
    pose = Pose.from_matrix(np.array([5.0, 5.0, 4.0]), np.diag([1.0, -1.0, -1.0]))
    return CameraFrame(np.zeros((384, 384, 3), np.uint8), depth, instances, LENS, pose)


def test_33_a_second_detection_nearby_is_the_same_node_and_its_place_may_be_unknown() -> None:
    graph = ObjectGraph(GroundTruthFeatures(("backpack",), {1: "backpack"}.get), ("backpack",))
    memory = Memory(HOUSE, graph)
    memory.observe(Observation.at_rest(1.0, frame_at(192, 192)))
    # 0.31 m further: another view that does not overlap the first, but is within 0.5 m.
    memory.observe(Observation.at_rest(2.0, frame_at(222, 192)))
    (node,) = memory.belief(2.0).of_kind(EntityKind.OBJECT)
    assert node.parent is None
    assert memory.belief(2.0).find(f"{node.entity_id}_backpack") is node
    memory.observe(Observation.at_rest(3.0, frame_at(300, 192)))
    assert len(memory.belief(3.0).of_kind(EntityKind.OBJECT)) == 2


def test_33_a_node_without_furniture_is_listed_and_can_be_navigated_to() -> None:
    memory = Memory(HOUSE, None)
    operation = Operation(OperationKind.ADD, description="backpack", position_m=(30.0, 30.0, 1.5))
    memory.edit([operation], "test", 0.0)
    belief = memory.belief(1.0)
    assert "backpack_102: unknown in an unknown room" in summary(belief, "agent_0")


def add(class_name: str, at: Vec3) -> Operation:
    facts = Facts(class_name, (0.1, 0.1, 0.1), None, None, None, {})
    return Operation(OperationKind.ADD, description=class_name, position_m=at, facts=facts)


def concept_graph(*things: tuple[str, Vec3]) -> Memory:
    memory = Memory(HOUSE, None, foreign_names=True)
    memory.edit([add(name, at) for name, at in things], "test", 0.0)
    return memory


def test_34_a_humans_names_mean_the_nearest_of_the_class_or_else_the_nearest() -> None:
    memory = concept_graph(
        ("cup", (1.2, 1.0, 0.7)), ("backpack", (9.0, 9.0, 0.1)), ("backpack", (1.5, 1.0, 0.7))
    )
    others = concept_graph(("cup", (1.2, 1.0, 0.7)), ("book", (9.0, 9.0, 0.1)))
    # The human is where it was last known to be, near the table.
    for known in (memory, others):
        known.observe(
            replace(Observation.at_rest(1.0, agent="agent_1"), base=Pose((1.0, 1.0, 0.0)))
        )
        known.note_result("agent_1", parse_call("Pick[backpack_0]"), OK, 5.0)
    assert [e.name for e in memory.snapshot().entities if e.picked] == ["backpack_104"]
    assert [e.name for e in others.snapshot().entities if e.picked] == ["cup_102"]
    # Put down by the same name: it is what the human holds.
    memory.note_result("agent_1", parse_call("Place[backpack_0, on, table_1, None, None]"), OK, 6.0)
    assert memory.belief(6.0).nodes["backpack_104"].parent == "table_1"


def test_names_that_are_nobodys_mean_nothing_where_the_memory_gives_the_names() -> None:
    memory = Memory(HOUSE, None)
    memory.edit([add("backpack", (1.5, 1.0, 0.7))], "test", 0.0)
    memory.observe(Observation.at_rest(1.0, agent="agent_1"))
    assert memory.note_result("agent_1", parse_call("Pick[backpack_0]"), OK, 5.0) is None
