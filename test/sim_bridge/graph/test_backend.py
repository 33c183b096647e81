"""The graph world behind the bridge's protocol conforms in our houses and in foreign graphs."""

import math
from pathlib import Path
from typing import Any

import graph_kitchen as kitchen
import pytest

from planner.parts.catalog import Report, Verdict
from planner.world.errors import PlannerError
from planner.world.house_checks import load_house
from planner.world.observation import Sighting
from planner.world.primitive import Primitive, PrimitiveCode, PrimitiveName, PrimitiveResult
from planner.world.vocabulary import Relation
from sim_bridge.conformance import check_backend
from sim_bridge.graph.backend import GraphBackend
from sim_bridge.opening import bare_episode, default_house, open_world
from sim_bridge.pacing import TICK_S

NEED_PICTURES = {
    "cameras_give_frames",
    "pictures_are_not_blank",
    "camera_hangs_on_the_body",
    "pixels_lie_where_things_are",
}
# A graph has places, no velocities: it declares no driving.
NEED_DRIVING = {
    "driving_turns_and_moves",
    "a_drive_expires",
    "a_drive_can_be_stopped",
    "unbounded_drives_are_refused",
}


def _skipped(report: Report) -> set[str]:
    return {f.check for f in report.findings if f.verdict is Verdict.SKIPPED}


@pytest.mark.slow
def test_it_conforms_in_a_furnished_house() -> None:
    opened = open_world(default_house(), "", 7, agents=2)
    report = check_backend(GraphBackend, house=opened.house, episode=opened.episode)
    assert report.failed == {}, report.table()
    assert _skipped(report) == NEED_PICTURES | NEED_DRIVING


def test_it_conforms_in_a_foreign_graph(tmp_path: Path) -> None:
    document = kitchen.graph()
    document["nodes"].append(kitchen.node(16, "mug", properties=["GRABBABLE"]))
    document["edges"].append(kitchen.edge(16, "ON", kitchen.LAMP))
    house = load_house(kitchen.written(tmp_path, document))
    report = check_backend(GraphBackend, house=house, episode=bare_episode(house, 2))
    assert report.failed == {}, report.table()
    assert _skipped(report) == NEED_PICTURES | NEED_DRIVING


class Body:
    """The robot of the kitchen, which does one primitive after another."""

    def __init__(self, folder: Path, document: dict[str, Any] | None = None) -> None:
        self.house = load_house(kitchen.written(folder, document))
        self.backend = GraphBackend()
        self.backend.reset(self.house, kitchen.task(self.house), 1)

    def do(
        self, name: PrimitiveName, entity: str, relation: Relation | None = None
    ) -> PrimitiveResult:
        """A primitive at the middle of an entity, to its end."""
        state = self.backend.world_state()
        assert state is not None
        target_m = state.entities[entity].box.center_m
        handle = self.backend.start("agent_0", Primitive(name, target_m, relation=relation))
        while (result := self.backend.poll(handle).result) is None:
            self.backend.step(TICK_S)
        return result


def test_primitives_change_the_edges_and_fail_with_the_precondition_by_name(
    tmp_path: Path,
) -> None:
    body = Body(tmp_path)
    navigate, pick = PrimitiveName.NAVIGATE, PrimitiveName.PICK
    assert body.do(navigate, "fridge_10").succeeded
    refused = body.do(pick, "pear_14")
    assert refused.code is PrimitiveCode.CLOSED
    assert refused.evidence == {"precondition": "container open"}
    assert body.do(PrimitiveName.OPEN, "fridge_10").succeeded
    assert body.do(pick, "pear_14").succeeded
    assert body.do(navigate, "bowl_12").succeeded
    assert body.do(PrimitiveName.PLACE, "bowl_12", Relation.WITHIN).succeeded
    state = body.backend.world_state()
    assert state is not None
    pear = state.entities["pear_14"]
    assert (pear.parent, pear.relation, pear.room) == ("bowl_12", Relation.WITHIN, "kitchen_1")


@pytest.mark.parametrize("room", [kitchen.KITCHEN, kitchen.LIVING])
def test_where_rooms_overlap_an_agent_goes_to_the_room_of_its_target(
    tmp_path: Path, room: int
) -> None:
    """Unity's boxes of rooms overlap by their walls, where furniture against a wall stands."""

    def box(x_m: float, side_m: float) -> dict[str, Any]:
        return {"center": [x_m, side_m / 2, 0.0], "size": [side_m] * 3}

    document = kitchen.graph()
    for node in document["nodes"]:
        at = {kitchen.KITCHEN: (0.0, 6.0), kitchen.LIVING: (5.5, 6.0), kitchen.FRIDGE: (2.75, 0.5)}
        node["bounding_box"] = box(*at.get(node["id"], (-1.0, 0.2)))
    [inside] = [e for e in document["edges"] if e["from_id"] == kitchen.FRIDGE]
    inside["to_id"] = room
    body = Body(tmp_path, document)
    assert body.do(PrimitiveName.NAVIGATE, "fridge_10").succeeded
    assert body.do(PrimitiveName.OPEN, "fridge_10").succeeded


def test_the_last_agent_to_reach_for_a_thing_finds_it_held(tmp_path: Path) -> None:
    house = load_house(kitchen.written(tmp_path))
    backend = GraphBackend()
    backend.reset(house, bare_episode(house, 2), 1)

    def both(name: PrimitiveName) -> list[PrimitiveResult | None]:
        state = backend.world_state()
        assert state is not None
        target_m = state.entities["bowl_12"].box.center_m
        primitive = Primitive(name, target_m, tolerance_m=0.01)
        started = [backend.start(agent, primitive) for agent in backend.agents]
        while not all(backend.poll(handle).done for handle in started):
            backend.step(TICK_S)
        return [backend.poll(handle).result for handle in started]

    assert all(result and result.succeeded for result in both(PrimitiveName.NAVIGATE))
    first, second = both(PrimitiveName.PICK)
    assert first is not None
    assert second is not None
    assert first.code is PrimitiveCode.SUCCESS
    assert (second.code, second.evidence) == (
        PrimitiveCode.HELD_BY_OTHER,
        {"precondition": "not held"},
    )
    unknown = backend.start("agent_7", Primitive(PrimitiveName.NAVIGATE, (0.0, 0.0, 0.0)))
    result = backend.poll(unknown).result
    assert result is not None
    assert result.code is PrimitiveCode.UNKNOWN_AGENT


def test_on_a_long_table_a_thing_goes_where_a_hand_reaches_and_off_the_edge() -> None:
    house = open_world(default_house(), "", 7).house
    piece = max(
        (p for p in house.furniture if p.surfaces and p.surfaces[0].clearance > 1.0),
        key=lambda p: max(p.surfaces[0].size),
    )
    (x, y, z), (depth, width) = piece.surfaces[0].center, piece.surfaces[0].size
    corners = [
        piece.pose.apply((x + a * depth / 2, y + b * width / 2, z))
        for a in (-1, 1)
        for b in (-1, 1)
    ]
    thing = house.objects[0]
    backend = GraphBackend()
    backend.reset(house, bare_episode(house, 1), 1)

    def do(primitive: Primitive) -> PrimitiveResult:
        handle = backend.start("agent_0", primitive)
        while (result := backend.poll(handle).result) is None:
            backend.step(TICK_S)
        return result

    def middle() -> tuple[float, float, float]:
        state = backend.world_state()
        assert state is not None
        return state.entities[thing.name].box.center_m

    assert do(Primitive(PrimitiveName.NAVIGATE, middle())).succeeded
    assert do(Primitive(PrimitiveName.PICK, middle())).succeeded
    near, far = corners[0], max(corners, key=lambda corner: math.dist(corner, corners[0]))
    # A point on the floor is walked onto.
    assert do(Primitive(PrimitiveName.NAVIGATE, (*near[:2], 0.0))).succeeded
    refused = do(Primitive(PrimitiveName.PLACE, far, relation=Relation.ON))
    assert refused.code is PrimitiveCode.TOO_FAR
    assert refused.evidence == {"precondition": "close"}
    assert do(Primitive(PrimitiveName.PLACE, near, relation=Relation.ON)).succeeded
    state = backend.world_state()
    assert state is not None
    box, top = state.entities[thing.name].box, piece.box
    assert state.entities[thing.name].parent == piece.name
    for axis in (0, 1):
        assert top.minimum_m[axis] - 1e-6 <= box.minimum_m[axis]
        assert box.maximum_m[axis] <= top.maximum_m[axis] + 1e-6


class SeesGhosts(GraphBackend):
    """It says that it sees what is not there."""

    def sightings_now(self, agent: str) -> list[Sighting]:
        ghost = Sighting("ghost_0", 1.0, 2.0, (0.0, 0.0), (0.0, 0.0, 0.0))
        return [*super().sightings_now(agent), ghost]


def test_the_check_finds_sightings_of_what_is_not_there() -> None:
    opened = open_world(default_house(), "", 7, agents=2)
    report = check_backend(
        SeesGhosts,
        house=opened.house,
        episode=opened.episode,
        only=["truth_and_senses_agree"],
    )
    reason = "agent_0 sees ghost_0, which is not in the world's state"
    assert report.failed == {"truth_and_senses_agree": reason}


def test_it_has_no_pictures_and_says_so(tmp_path: Path) -> None:
    body = Body(tmp_path)
    assert body.backend.capabilities("agent_0").cameras == ()
    with pytest.raises(PlannerError, match="a graph has no pictures"):
        body.backend.observe("agent_0", ("hand",))
