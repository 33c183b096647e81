"""One test a kind of bad house or episode file: the error names the field and the reason."""

from __future__ import annotations

import copy
import json
import math
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from planner.world.catalogue import default_catalogue
from planner.world.episode import Episode
from planner.world.errors import FileError, PlannerError
from planner.world.house import House, house_json
from planner.world.house_checks import (
    check_episode,
    check_house,
    load_episode,
    load_house,
    read_house,
)
from planner.world.object_checks import Reach, object_findings

Document = dict[str, Any]
Change = Callable[[Document], None]


@pytest.fixture
def document(small_house: House) -> Document:
    loaded: Document = json.loads(house_json(small_house))
    return loaded


@pytest.fixture
def episode_document(small_episode: Episode, small_house: House, tmp_path: Path) -> Document:
    (tmp_path / "small.json").write_text(house_json(small_house))
    loaded: Document = small_episode.model_dump(mode="json")
    loaded["house"] = "small.json"
    return loaded


def write(folder: Path, document: Document) -> Path:
    path = folder / "broken.json"
    path.write_text(json.dumps(document))
    return path


def test_a_sound_house_has_no_findings(small_house: House) -> None:
    assert check_house(small_house, default_catalogue()) == []


def test_a_sound_episode_has_no_findings(small_house: House, small_episode: Episode) -> None:
    assert check_episode(small_episode, small_house, default_catalogue()) == []


def put(*keys: str | int, value: object) -> Change:
    """A change that sets one field, given by its path, to a value."""

    def change(document: Document) -> None:
        owner: Any = document
        for key in keys[:-1]:
            owner = owner[key]
        owner[keys[-1]] = value

    return change


def both(*changes: Change) -> Change:
    """All changes, one after the other."""

    def change(document: Document) -> None:
        for one in changes:
            one(document)

    return change


def add_closet(document: Document) -> None:
    corners = [[8, 0], [10, 0], [10, 4], [8, 4]]
    document["rooms"].append({"name": "closet_0", "class_name": "closet", "polygon_m": corners})


def add_alcove(document: Document) -> None:
    """Puts a small table at the end of an alcove that is too narrow to enter."""
    corners = [[4, 0], [8, 0], [8, 1], [10, 1], [10, 1.5], [8, 1.5], [8, 4], [4, 4]]
    document["rooms"][1]["polygon_m"] = corners
    table = copy.deepcopy(document["furniture"][0])
    place = {"room": "living_room_0", "x_m": 9.75, "y_m": 1.25, "size_m": [0.4, 0.4, 0.5]}
    document["furniture"].append(table | place | {"name": "table_2", "surfaces": [], "parts": []})


HOUSES: dict[str, tuple[Change, str, str]] = {
    "wrong version": (
        put("version", value=2),
        "version",
        "version 2 is not supported; this planner reads version 1",
    ),
    "no version": (lambda d: d.pop("version"), "version", "Field required"),
    "unknown field": (put("colour", value="red"), "colour", "Extra inputs"),
    "NaN": (put("furniture", 0, "x_m", value=math.nan), "furniture.0.x_m", "finite"),
    "infinity": (put("objects", 0, "pose", 2, value=math.inf), "objects.0.pose.2", "finite"),
    "name used twice": (put("rooms", 1, "name", value="kitchen_0"), "", "used twice"),
    "crossed polygon": (
        put("rooms", 0, "polygon_m", value=[[0, 0], [4, 4], [4, 0], [0, 4]]),
        "rooms.0",
        "not a simple polygon",
    ),
    "unknown class of room": (
        put("rooms", 0, "class_name", value="dungeon"),
        "rooms.0.class_name",
        "unknown class of room 'dungeon'",
    ),
    "unknown class of furniture": (
        put("furniture", 1, "class_name", value="throne"),
        "furniture.1.class_name",
        "unknown class of furniture 'throne'",
    ),
    "unknown class of object": (
        put("objects", 1, "class_name", value="unicorn"),
        "objects.1.class_name",
        "unknown class of object 'unicorn'",
    ),
    "rooms overlap": (
        put("rooms", 1, "polygon_m", value=[[3.8, 0], [8, 0], [8, 4], [3.8, 4]]),
        "rooms.1.polygon_m",
        "living_room_0 overlaps kitchen_0",
    ),
    "door off the wall": (
        put("doors", 0, "center_m", value=[3.5, 2]),
        "doors.0.center_m",
        "not in a wall of kitchen_0 and living_room_0",
    ),
    "door across the wall": (put("doors", 0, "yaw_rad", value=0.0), "doors.0.center_m", "wall"),
    "door past the wall's end": (
        put("doors", 0, "center_m", value=[4, 3.8]),
        "doors.0.center_m",
        "not in a wall",
    ),
    "front door inside": (
        put("doors", 0, "rooms", value=["kitchen_0"]),
        "doors.0.center_m",
        "leads to living_room_0",
    ),
    "door to an unknown room": (put("doors", 0, "rooms", 1, value="attic_0"), "", "attic_0"),
    "furniture outside": (
        put("furniture", 0, "y_m", value=3.9),
        "furniture.0.x_m",
        "table_0 is not inside kitchen_0",
    ),
    "furniture through the ceiling": (
        put("furniture", 0, "size_m", 2, value=2.7),
        "furniture.0.size_m",
        "higher than kitchen_0",
    ),
    "furniture overlaps": (
        put("furniture", 2, "x_m", value=1.4),
        "furniture.2.x_m",
        "cabinet_0 overlaps sink_0",
    ),
    "furniture in a doorway": (
        both(put("furniture", 5, "x_m", value=4.9), put("furniture", 5, "y_m", value=1.6)),
        "furniture.5.x_m",
        "couch_0 blocks door_0",
    ),
    "unreachable room": (add_closet, "rooms.2", "closet_0 cannot be reached"),
    "furniture out of reach": (
        add_alcove,
        "furniture.6.x_m",
        "no agent can get within reach of table_2",
    ),
    "unknown parent": (
        put("objects", 0, "parent", value="table_9"),
        "objects.0.parent",
        "unknown parent 'table_9'",
    ),
    "unknown part": (
        put("objects", 0, "part", value="roof"),
        "objects.0.part",
        "table_0 has no surface 'roof'",
    ),
    "no such interior": (
        put("objects", 0, "relation", value="within"),
        "objects.0.part",
        "table_0 has no interior 'top'",
    ),
    "object floats": (
        put("objects", 0, "pose", 2, value=0.9),
        "objects.0.pose",
        "cup_0 floats 0.",
    ),
    "object sunk": (put("objects", 0, "pose", 2, value=0.2), "objects.0.pose", "is sunk"),
    "object over the edge": (
        put("objects", 0, "pose", 0, value=2.55),
        "objects.0.pose",
        "sticks out of table_0's top",
    ),
    "object above its part": (
        put("objects", 0, "size_m", 2, value=1.6),
        "objects.0.pose",
        "too high for table_0's top",
    ),
    "objects overlap": (
        lambda d: put("objects", 1, "pose", value=d["objects"][0]["pose"])(d),
        "objects.1.pose",
        "apple_0 overlaps cup_0",
    ),
    "state without affordance": (
        put("objects", 1, "states", value={"powered_on": True}),
        "objects.1.states",
        "apple_0 cannot be powered_on",
    ),
    "object under a floor": (
        lambda d: d["objects"][0].update(parent="floor_kitchen_0", part="floor"),
        "objects.0.pose",
        "above the floor of kitchen_0",
    ),
    "object in a wall": (
        lambda d: d["objects"][0].update(
            parent="floor_kitchen_0", part="floor", pose=[0.0, 2.0, 0.0, 0.0]
        ),
        "objects.0.pose",
        "not inside kitchen_0",
    ),
    "object under furniture": (
        lambda d: d["objects"][0].update(
            parent="floor_kitchen_0", part="floor", pose=[0.8, 0.4, 0.0, 0.0]
        ),
        "objects.0.pose",
        "cup_0 overlaps sink_0",
    ),
}


@pytest.mark.parametrize("name", HOUSES)
def test_bad_house(name: str, document: Document, tmp_path: Path) -> None:
    change, field, reason = HOUSES[name]
    change(document)
    path = write(tmp_path, document)
    with pytest.raises(FileError) as caught:
        load_house(path)
    assert caught.value.file == str(path)
    assert caught.value.field.startswith(field)
    assert reason in caught.value.reason


def test_object_above_every_reach(document: Document, tmp_path: Path) -> None:
    table = document["furniture"][0]
    table["surfaces"][0]["center"][2] = 1.8
    for thing in document["objects"][:2]:
        thing["pose"][2] = 1.8
    with pytest.raises(FileError, match=r"out of reach at 1\.80 m height"):
        load_house(write(tmp_path, document))


def test_a_thing_is_not_reached_through_a_wall() -> None:
    house = load_house("train_4")
    # In a corner behind the desk, 0.2 m from the wall of the bedroom, whose floor is free.
    behind = [
        thing.model_copy(update={"pose": (4.0032, 0.4034, 0.76, -3.1416)})
        if thing.name == "notebook_0"
        else thing
        for thing in house.objects
    ]
    found = [*object_findings(house, behind, default_catalogue(), Reach(house))]
    assert [reason for _, reason in found] == ["no agent can get within reach of notebook_0"]


def _standing(name: str, x: float, y: float, size: tuple[float, float]) -> Document:
    top_m = 0.7
    return {
        "name": name,
        "class_name": name.rpartition("_")[0],
        "room": "living_room_0",
        "x_m": x,
        "y_m": y,
        "yaw_rad": 0.0,
        "size_m": [*size, top_m],
        "parts": [{"center": [0, 0, top_m / 2], "size": [*size, top_m], "rgb": "#808080"}],
        "surfaces": [{"name": "top", "center": [0, 0, top_m], "size": list(size)}],
    }


def test_furniture_that_only_a_hand_through_a_wall_would_reach(document: Document) -> None:
    document["objects"] = []
    document["furniture"] = [
        # In the corner by the kitchen's wall, walled in by two tables.
        _standing("chair_0", 4.25, 0.16, (0.3, 0.3)),
        _standing("table_0", 5.4, 0.35, (1.4, 0.6)),
        _standing("table_1", 5.1, 1.1, (2.0, 0.75)),
    ]
    house = House.model_validate(document)
    assert [str(finding) for finding in check_house(house, default_catalogue())] == [
        "furniture.0.x_m: no agent can get within reach of chair_0's top"
    ]


def test_further_findings_are_counted(document: Document, tmp_path: Path) -> None:
    document["rooms"][0]["class_name"] = document["rooms"][1]["class_name"] = "dungeon"
    with pytest.raises(FileError, match=r"dungeon.*\(and 1 more\)"):
        load_house(write(tmp_path, document))


@pytest.mark.parametrize("text", ["", "[]", "{", '"house"', "\x00", "[" * 100_000])
def test_not_a_house_at_all(text: str, tmp_path: Path) -> None:
    path = tmp_path / "broken.json"
    path.write_text(text)
    with pytest.raises(FileError) as caught:
        load_house(path)
    assert caught.value.file == str(path)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="cannot be read"):
        load_house(tmp_path / "absent.json")


@pytest.mark.parametrize("name", ["nowhere", "*", "..", "train_0*"])
def test_unknown_name_lists_the_shipped(name: str) -> None:
    with pytest.raises(PlannerError, match=r"there is no house .*train_0"):
        load_house(name)


def test_an_empty_name_is_reported() -> None:
    with pytest.raises(PlannerError, match="no house is named"):
        load_house("")
    with pytest.raises(PlannerError, match="no episode is named"):
        load_episode("")


def test_a_shipped_house_is_found_by_name_and_read_once() -> None:
    assert load_house("train_0") is load_house("train_0")
    assert load_house("train_0").split == "train"


def test_a_changed_file_is_read_again(document: Document, tmp_path: Path) -> None:
    path = write(tmp_path, document)
    assert load_house(path).name == "small"
    write(tmp_path, document | {"name": "other"})
    os.utime(path, ns=(time.time_ns(), time.time_ns() + 1))
    assert load_house(path).name == "other"


def test_read_house_leaves_judging_to_the_caller(document: Document, tmp_path: Path) -> None:
    put("furniture", 2, "x_m", value=1.4)(document)
    findings = check_house(read_house(write(tmp_path, document)), default_catalogue())
    assert [str(finding) for finding in findings] == ["furniture.2.x_m: cabinet_0 overlaps sink_0"]


def stow(change: Change | None = None, **fields: object) -> Change:
    """Puts the apple into a pot where the cup stood; then changes the apple's record."""

    def apply(document: Document) -> None:
        pot, apple = document["objects"][:2]
        pot.update(name="pot_0", class_name="pot", size_m=[0.21, 0.28, 0.162])
        x, y, z, yaw = pot["pose"]
        apple.update(
            parent="pot_0", relation="within", part="hollow", pose=[x, y, z + 0.01, yaw], **fields
        )
        if change is not None:
            change(document)

    return apply


EPISODES: dict[str, tuple[Change, str, str]] = {
    "wrong version": (put("version", value=7), "version", "version 7 is not supported"),
    "unknown house": (put("house", value="castle"), "house", "there is no house 'castle'"),
    "NaN": (put("agents", 0, "start", 0, value=math.nan), "agents.0.start.0", "finite"),
    "start in furniture": (
        put("agents", 0, "start", value=[2.2, 3.2, 0.0]),
        "agents.0.start",
        "not free floor",
    ),
    "start outside": (put("agents", 0, "start", value=[-50, 2, 0]), "agents.0.start", "free"),
    "two agents in one place": (
        put("agents", 1, "start", value=[1.6, 2.0, 0.0]),
        "agents.1.start",
        "agent_1 overlaps agent_0",
    ),
    "unknown kind": (put("agents", 0, "kind", value="dragon"), "agents.0.kind", "Input should"),
    "unknown furniture": (
        put("furniture", value={"bed_0": {"open": True}}),
        "furniture.bed_0",
        "no furniture 'bed_0'",
    ),
    "opens what does not open": (
        put("furniture", value={"table_0": {"open": True}}),
        "furniture.table_0.open",
        "table_0 does not open",
    ),
    "state without affordance": (
        put("furniture", value={"table_0": {"states": {"powered_on": True}}}),
        "furniture.table_0.states",
        "table_0 cannot be powered_on",
    ),
    "unknown class": (
        put("objects", 0, "class_name", value="unicorn"),
        "objects.0.class_name",
        "unknown class",
    ),
    "unknown parent": (put("objects", 0, "parent", value="bed_7"), "objects.0.parent", "bed_7"),
    "unknown part": (put("objects", 0, "part", value="roof"), "objects.0.part", "roof"),
    "overlap": (
        lambda d: put("objects", 1, "pose", value=d["objects"][0]["pose"])(d),
        "objects.1.pose",
        "apple_0 overlaps cup_0",
    ),
    "no part of a thing": (
        stow(put("objects", 1, "part", value="drawer")),
        "objects.1.part",
        "pot_0 has no part 'drawer' to be within",
    ),
    "nothing lies on a pot": (
        stow(put("objects", 1, "relation", value="on")),
        "objects.1.part",
        "pot_0 has no part 'hollow' to be on",
    ),
    "above the ground of a pot": (
        lambda d: stow(put("objects", 1, "pose", 2, value=0.9))(d),
        "objects.1.pose",
        "apple_0 floats 0.470 m at pot_0's hollow",
    ),
    "wider than a pot": (
        stow(size_m=[0.14, 0.14, 0.14]),
        "objects.1.pose",
        "apple_0 sticks out of pot_0's hollow",
    ),
    "a thing in itself": (
        stow(put("objects", 0, "parent", value="apple_0")),
        "objects.0.parent",
        "a cycle of containment: pot_0 in or on apple_0 in or on pot_0",
    ),
}


def test_an_apple_in_a_pot_is_sound(episode_document: Document, tmp_path: Path) -> None:
    stow()(episode_document)
    episode, _ = load_episode(write(tmp_path, episode_document))
    assert episode.objects[1].parent == "pot_0"


@pytest.mark.parametrize("name", EPISODES)
def test_bad_episode(name: str, episode_document: Document, tmp_path: Path) -> None:
    change, field, reason = EPISODES[name]
    change(episode_document)
    path = write(tmp_path, episode_document)
    with pytest.raises(FileError) as caught:
        load_episode(path)
    assert caught.value.file == str(path)
    assert caught.value.field.startswith(field)
    assert reason in caught.value.reason


def test_an_episode_comes_with_its_house(episode_document: Document, tmp_path: Path) -> None:
    episode, house = load_episode(write(tmp_path, episode_document))
    assert (episode.episode_id, house.name) == ("small", "small")


def test_a_broken_house_is_reported_under_its_own_name(
    episode_document: Document, document: Document, tmp_path: Path
) -> None:
    put("furniture", 2, "x_m", value=1.4)(document)
    (tmp_path / "small.json").write_text(json.dumps(document))
    with pytest.raises(FileError) as caught:
        load_episode(write(tmp_path, episode_document))
    assert caught.value.file == str(tmp_path / "small.json")


def test_unknown_episode() -> None:
    with pytest.raises(PlannerError, match="there is no episode 'nothing'"):
        load_episode("nothing")


def test_a_foreign_house_is_taken_as_it_is(document: Document, tmp_path: Path) -> None:
    document["furniture"][1].update(
        x_m=document["furniture"][0]["x_m"], y_m=document["furniture"][0]["y_m"]
    )
    with pytest.raises(FileError, match="overlaps"):
        load_house(write(tmp_path, document))
    document["foreign"] = True
    path = tmp_path / "foreign.json"
    path.write_text(json.dumps(document))
    assert load_house(path).foreign
    document["furniture"][0]["class_name"] = "gryphon"
    path = tmp_path / "gryphon.json"
    path.write_text(json.dumps(document))
    with pytest.raises(FileError, match="unknown class of furniture 'gryphon'"):
        load_house(path)
