"""A scene graph as a house: nothing fitted, nothing lost, each entity in a place of its own."""

import math
from pathlib import Path

import graph_kitchen as kitchen
import pytest
from graph_kitchen import APPLE, FRIDGE, KITCHEN, LIVING, edge, node

from planner.world.catalogue import default_catalogue
from planner.world.errors import FileError, PlannerError
from planner.world.house import house_json
from planner.world.house_checks import check_house, house_from_json, load_house
from planner.world.vocabulary import Affordance, Relation
from sim_bridge.embedded.backend import EmbeddedBackend


def test_nodes_become_rooms_furniture_and_things_by_their_own_names(tmp_path: Path) -> None:
    house = load_house(kitchen.written(tmp_path))
    assert [room.name for room in house.rooms] == ["kitchen_1", "livingroom_2"]
    assert {p.name: p.room for p in house.furniture} == {
        "fridge_10": "kitchen_1",
        "kitchentable_11": "kitchen_1",
        "tablelamp_15": "livingroom_2",
    }
    assert {o.name: (o.relation, o.parent) for o in house.objects} == {
        "bowl_12": (Relation.ON, "kitchentable_11"),
        "apple_13": (Relation.WITHIN, "bowl_12"),
        "pear_14": (Relation.WITHIN, "fridge_10"),
    }
    fridge = house.furniture_by_name["fridge_10"]
    assert fridge.affordances == (Affordance.OPENABLE,)
    assert fridge.joints
    assert fridge.interiors
    assert not house.furniture_by_name["kitchentable_11"].interiors


def test_what_no_simulator_placed_gets_a_place_of_its_own(tmp_path: Path) -> None:
    document = kitchen.graph()
    for number in range(100, 160):
        document["nodes"].append(node(number, "mug", properties=["GRABBABLE"]))
        document["edges"].append(edge(number, "ON", kitchen.TABLE))
        document["nodes"].append(node(number + 100, "chair"))
        document["edges"].append(edge(number + 100, "INSIDE", KITCHEN))
    house = load_house(kitchen.written(tmp_path, document))
    table = house.furniture_by_name["kitchentable_11"].box
    mugs = [o.pose for o in house.objects if o.class_name == "mug"]
    assert len(set(mugs)) == 60
    assert all(table.contains((x, y, z), 1e-6) for x, y, z, _ in mugs)
    places = {(p.x_m, p.y_m) for p in house.furniture}
    assert len(places) == len(house.furniture)
    assert all(house.room_at(p.x_m, p.y_m) == p.room for p in house.furniture)


def test_boxes_of_the_graph_are_kept_and_their_height_is_z(tmp_path: Path) -> None:
    document = kitchen.graph()
    fridge = next(n for n in document["nodes"] if n["id"] == FRIDGE)
    fridge["bounding_box"] = {"center": [1.0, 0.9, 3.0], "size": [0.7, 1.8, 0.6]}
    piece = load_house(kitchen.written(tmp_path, document)).furniture_by_name["fridge_10"]
    assert (piece.x_m, piece.y_m) == (1.0, 3.0)
    assert piece.size_m == pytest.approx((0.7, 0.6, 1.8))


def test_things_lie_on_the_floor_where_only_the_building_is_below(tmp_path: Path) -> None:
    document = kitchen.graph()
    document["nodes"].append(node(40, "floor", "Floor", properties=["SURFACES"]))
    document["edges"] = [e for e in document["edges"] if e["from_id"] != APPLE]
    document["edges"] += [
        edge(40, "INSIDE", LIVING),
        edge(APPLE, "ON", 40),
        edge(APPLE, "INSIDE", LIVING),
    ]
    house = load_house(kitchen.written(tmp_path, document))
    apple = next(o for o in house.objects if o.name == "apple_13")
    assert (apple.relation, apple.parent) == (Relation.ON, "floor_livingroom_2")
    assert "floor_40" not in house.furniture_by_name


def test_the_house_says_itself_what_it_was_made_of(tmp_path: Path) -> None:
    house = load_house(kitchen.written(tmp_path))
    assert house_from_json(house_json(house), "told") == house
    assert house.graph is not None
    # Without positions, what is close is only what the file says.
    assert {e.relation_type for e in house.graph.edges} == {"ON", "INSIDE", "CLOSE"}
    document = kitchen.graph()
    document["nodes"][0]["bounding_box"] = {"center": [1.0, 1.5, 0.0], "size": [5.0, 3.0, 4.0]}
    placed = load_house(kitchen.written(tmp_path, document))
    assert placed.graph is not None
    assert {e.relation_type for e in placed.graph.edges} == {"ON", "INSIDE"}


def test_openings_are_in_the_wall_between_their_rooms(tmp_path: Path) -> None:
    document = kitchen.graph()
    beside = load_house(kitchen.written(tmp_path, document))
    assert [door.yaw_rad for door in beside.doors] == [math.pi / 2]
    for number, (node_, depth) in enumerate(zip(document["nodes"], (0.0, 4.0), strict=False)):
        box = {"center": [1.0, 1.5, depth], "size": [5.0, 3.0, 4.0]}
        document["nodes"][number] = {**node_, "bounding_box": box}
    behind = load_house(kitchen.written(tmp_path, document))
    assert [door.yaw_rad for door in behind.doors] == [0.0]


def test_it_is_sound_as_it_is_and_has_no_walls_for_a_simulator(tmp_path: Path) -> None:
    house = load_house(kitchen.written(tmp_path))
    assert check_house(house, default_catalogue()) == []
    with pytest.raises(PlannerError, match=r"^home is a scene graph, which only the backend graph"):
        EmbeddedBackend().reset(house, kitchen.task(house), 0)


def test_a_graph_without_rooms_is_refused(tmp_path: Path) -> None:
    document = {"nodes": [node(APPLE, "apple", properties=["GRABBABLE"])]}
    with pytest.raises(FileError, match=r"home\.json: nodes: there is no room"):
        load_house(kitchen.written(tmp_path, document))
