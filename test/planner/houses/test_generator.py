"""Generated houses: sound for any seed, the same for the same seed, with what was asked for."""

from __future__ import annotations

from collections import Counter

import pytest
from random_cases import by_day_each

from planner.houses.generator import Recipe, generate_house, recipes, shipped_houses
from planner.world.catalogue import default_catalogue
from planner.world.errors import PlannerError
from planner.world.house import House, house_json
from planner.world.house_checks import check_house, load_house, read_house

# Blocks of seeds, so that several workers share them: of a thousand, the first few at each change.
NIGHTLY = (pytest.mark.slow, pytest.mark.nightly)
BLOCKS = [
    range(10),
    *(pytest.param(range(n, n + 45), marks=NIGHTLY) for n in range(10, 1000, 45)),
]


@pytest.mark.slow
@pytest.mark.parametrize("seeds", BLOCKS, ids=lambda seeds: f"{seeds.start}-{seeds.stop - 1}")
def test_every_house_is_sound(seeds: range) -> None:
    for seed in seeds:
        house = generate_house("house", seed)
        assert check_house(house, default_catalogue()) == [], seed
        assert 4 <= len(house.rooms) <= 12, seed
        assert len(house.objects) >= 20, seed
        assert sum(len(door.rooms) == 1 for door in house.doors) == 1, seed


@pytest.mark.slow
def test_the_same_seed_gives_the_same_house() -> None:
    texts = [house_json(generate_house("house", 7)) for _ in range(2)]
    assert texts[0] == texts[1]
    assert texts[0] != house_json(generate_house("house", 8))


@pytest.mark.slow
@pytest.mark.parametrize("count", range(4, 13))
def test_as_many_rooms_as_asked(count: int) -> None:
    house = generate_house("house", 100 + count, rooms=count)
    classes = Counter(room.class_name for room in house.rooms)
    assert len(house.rooms) == count
    assert min(classes[c] for c in ("living_room", "kitchen", "bedroom", "bathroom")) >= 1


@pytest.mark.parametrize("room_class", sorted(default_catalogue().rooms))
def test_a_house_of_any_one_room(room_class: str) -> None:
    house = generate_house("house", 3, rooms={room_class: 1})
    assert [room.name for room in house.rooms] == [f"{room_class}_0"]
    assert check_house(house, default_catalogue()) == []


def test_a_hallway_is_added_where_the_plan_needs_one() -> None:
    house = generate_house("house", 3, rooms={"bedroom": 4, "bathroom": 2})
    names = [room.name for room in house.rooms]
    assert names.count("hallway_0") == 1
    assert len(names) == 7


MANY = {
    "bedroom_0": {"chest_of_drawers": 7},
    "bedroom_1": {"chest_of_drawers": 7, "chair": 2},
    "bedroom_2": {"chest_of_drawers": 7, "bench": 1, "couch": 1},
    "living_room_0": {"table": 10, "shelves": 3, "chair": 4},
    "kitchen_0": {"counter": 6, "cabinet": 4, "table": 3, "chair": 8, "stool": 2},
    "hallway_0": {"counter": 1},
}


@pytest.mark.slow
@pytest.mark.parametrize("seed", by_day_each(3, range(6)))
def test_required_furniture_is_there(seed: int) -> None:
    rooms = {"bedroom": 3, "living_room": 1, "kitchen": 1, "bathroom": 1, "hallway": 1}
    house = generate_house("house", seed, rooms=rooms, required=MANY)
    for room, classes in MANY.items():
        there = Counter(piece.class_name for piece in house.furniture if piece.room == room)
        assert all(there[name] >= number for name, number in classes.items()), (room, there)
    assert check_house(house, default_catalogue()) == []


def test_furniture_is_numbered_by_class_in_the_order_of_the_rooms() -> None:
    house = generate_house("house", 11, rooms=9)
    order = {room.name: index for index, room in enumerate(house.rooms)}
    rooms_of: dict[str, list[int]] = {}
    for piece in house.furniture:
        number = len(rooms_of.setdefault(piece.class_name, []))
        assert piece.name == f"{piece.class_name}_{number}"
        rooms_of[piece.class_name].append(order[piece.room])
    assert all(rooms == sorted(rooms) for rooms in rooms_of.values())


@pytest.mark.slow
@pytest.mark.parametrize("objects", [0, 1, 60])
def test_as_many_things_as_asked(objects: int) -> None:
    house = generate_house("house", 5, rooms=8, objects=objects)
    assert len(house.objects) == objects


def seats_at_tables(house: House) -> int:
    """Chairs whose front looks at a table an arm's length ahead."""
    tables = [piece for piece in house.furniture if piece.class_name == "table"]
    return sum(
        any(table.box.contains((*piece.pose.apply((0.6, 0.0, 0.0))[:2], 0.1)) for table in tables)
        for piece in house.furniture
        if piece.class_name == "chair"
    )


def test_furniture_stands_where_people_put_it() -> None:
    house = generate_house("house", 21, rooms={"dining_room": 1, "bedroom": 1, "living_room": 1})
    assert seats_at_tables(house) >= 4
    bed = next(piece for piece in house.furniture if piece.class_name == "bed")
    headboard = bed.pose.apply((-bed.size_m[0] / 2 - 0.15, 0.0, 0.0))
    assert house.room_at(headboard[0], headboard[1]) != bed.room
    couch = next(piece for piece in house.furniture if piece.class_name == "couch")
    tv = next(piece for piece in house.furniture if piece.class_name == "tv")
    x, y, _ = couch.pose.inverse().apply((tv.x_m, tv.y_m, 0.0))
    assert x > 1.0
    assert abs(y) < 0.1


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"rooms": {"dungeon": 1}}, "unknown class of room 'dungeon'"),
        ({"rooms": {}}, "at least one room"),
        ({"rooms": {"bedroom": -1}}, "-1 is not a number of rooms"),
        ({"rooms": 40}, "4 to 12 rooms, not 40"),
        ({"required": {"attic_0": {"table": 1}}}, "'attic_0', which the house does not have"),
        ({"required": {"kitchen_0": {"throne": 1}}}, "unknown class of furniture 'throne'"),
    ],
)
def test_what_cannot_be_had_is_reported(arguments: dict[str, object], reason: str) -> None:
    with pytest.raises(PlannerError, match=reason):
        generate_house("house", 1, **arguments)  # type: ignore[arg-type]


def test_impossible_amounts_end_in_an_error() -> None:
    with pytest.raises(PlannerError, match="no place was found"):
        generate_house("house", 1, rooms={"bathroom": 1}, required={"bathroom_0": {"bed": 400}})


def test_shipped_houses_are_sound_and_kept_apart() -> None:
    houses = [load_house(path) for path in shipped_houses()]
    by_split = {
        split: {h.seed for h in houses if h.split == split} for split in ("train", "heldout")
    }
    assert len(by_split["train"]) >= 8
    assert len(by_split["heldout"]) >= 4
    assert not by_split["train"] & by_split["heldout"]
    assert {h.name for h in houses} == {recipe.name for recipe in recipes()}
    assert sum(path.stat().st_size for path in shipped_houses()) < 4_000_000


@pytest.mark.parametrize("recipe", recipes(), ids=lambda recipe: recipe.name)
def test_shipped_house_follows_its_recipe(recipe: Recipe) -> None:
    house = read_house(recipe.path)
    assert (house.name, house.split, house.seed, len(house.rooms)) == (
        recipe.name,
        recipe.split,
        recipe.seed,
        recipe.rooms,
    )


def test_the_benchmark_house_is_as_large_as_its_name_says() -> None:
    house = load_house("bench_8x60x150")
    assert (len(house.rooms), len(house.furniture), len(house.objects)) == (8, 60, 150)
