"""Where the judge says that nothing changes while things are carried, nothing does."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from planner.evaluation.criteria import keeps, keeps_relation, shadows_nothing
from planner.evaluation.evaluator import Evaluator
from planner.evaluation.language import read_evaluation
from planner.evaluation.predicates import Watch
from planner.evaluation.scene import Scene, world_box
from planner.world.geometry import Box, Pose
from planner.world.vocabulary import Relation

THINGS = ("cup_0", "plate_0", "book_0")
PIECES = ("table_0", "table_2", "table_3", "toy_box_0", "chest_of_drawers_0")
HEIGHTS_M = (0.0, 0.03, 0.3, 0.72, 0.9)


def _drawn(rng: random.Random) -> dict[str, object]:
    things = rng.sample(THINGS, rng.randint(1, 2))
    kind = rng.choice(["is_on_top", "is_inside", "is_in_room", "is_on_floor", "is_next_to"])
    others = {
        "is_on_top": ("receptacles", [*PIECES, "floor_kitchen_0", "plate_0"]),
        "is_inside": ("receptacles", ["toy_box_0", "chest_of_drawers_0", "cabinet_0"]),
        "is_in_room": ("rooms", ["kitchen_0", "living_room_0"]),
        "is_next_to": ("entities_b", [*THINGS, "table_2"]),
    }
    if kind == "is_on_floor":
        return {"function_name": kind, "args": {"objects": things}}
    word, known = others[kind]
    first = "entities_a" if kind == "is_next_to" else "objects"
    second = [name for name in rng.sample(known, 2) if name not in things]
    return {"function_name": kind, "args": {first: things, word: second or [known[-1]]}}


def _anywhere(rng: random.Random, box: Box, size_m: tuple[float, float, float]) -> Pose:
    """A place and a turn with which a thing is all in a box."""
    around = (size_m[0] ** 2 + size_m[1] ** 2) ** 0.5 / 2
    x, y = (
        rng.uniform(box.minimum_m[i] + around, max(box.maximum_m[i] - around, box.minimum_m[i]))
        for i in (0, 1)
    )
    z = rng.uniform(box.minimum_m[2], max(box.maximum_m[2] - size_m[2], box.minimum_m[2]))
    return Pose.planar(x, y, rng.uniform(-3, 3), z)


@pytest.mark.parametrize(
    "seed", [*range(6), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(6, 20))]
)
def test_what_is_said_to_stay_stays_wherever_things_go_in_their_boxes(
    make_lab, pieces, seed: int
) -> None:
    rng = random.Random(seed)
    chest = pieces["drawers"]("chest_of_drawers_0", "kitchen_0", 3, 6)
    certain = 0
    for _ in range(60):
        lab = make_lab(THINGS, extra=[chest])
        for name in THINGS:
            place = rng.choice(["table", "near", "away"])
            if place == "table":
                lab.on(name, rng.choice(["table_0", "table_2", "table_3"]), rng.uniform(-0.4, 0.4))
            elif place == "near":
                lab.at(name, rng.uniform(1, 16), rng.uniform(1, 6), rng.choice(HEIGHTS_M))
        judged = read_evaluation({"propositions": [_drawn(rng)]}, "random")
        carried = rng.sample(THINGS, rng.randint(1, 2))
        reach = {}
        for name in carried:
            box = world_box(lab.entities[name])
            (x0, y0, z0), (x1, y1, z1) = box.minimum_m, box.maximum_m
            dx, dy = rng.uniform(-1.5, 1.5), rng.uniform(-1.5, 1.5)
            low = (min(x0, x0 + dx) - 0.05, min(y0, y0 + dy) - 0.05, z0)
            high = (max(x1, x1 + dx) + 0.05, max(y1, y1 + dy) + 0.05, z1 + 0.01)
            reach[name] = Box(low, high)
        evaluator = Evaluator(judged, lab.house, lab.state())
        if not evaluator.keeps(reach):
            continue
        certain += 1
        before = [(w.holds, w.values) for w in _watches(evaluator, lab)]
        for _ in range(15):
            for name in carried:
                entity = lab.entities[name]
                pose = _anywhere(rng, reach[name], entity.size_m)
                lab.entities[name] = replace(entity, pose=pose)
            assert [(w.holds, w.values) for w in _watches(evaluator, lab)] == before
    assert certain > 5


def _watches(evaluator: Evaluator, lab) -> list[Watch]:
    scene = Scene(lab.house, lab.entities)
    return [Watch(p, scene) for p in evaluator.propositions]


def _cup_in_the_air(make_lab, predicate: str, receptacle: str) -> tuple[Any, Evaluator]:
    """A lab with the cup beside all furniture, and the judge of whether it is on or in a piece."""
    args = {"objects": ["cup_0"], "receptacles": [receptacle]}
    task = {"propositions": [{"function_name": predicate, "args": args}]}
    lab = make_lab(THINGS).at("cup_0", 4, 2, 0.9)
    return lab, Evaluator(read_evaluation(task, "one"), lab.house, lab.state())


def test_a_thing_that_comes_over_a_named_table_is_judged_step_by_step(make_lab) -> None:
    lab, evaluator = _cup_in_the_air(make_lab, "is_on_top", "table_0")
    assert evaluator.keeps({"cup_0": Box((3.0, 1.9, 0.9), (4.1, 2.1, 1.0))})
    assert not evaluator.keeps({"cup_0": Box((2.4, 1.9, 0.9), (4.1, 2.1, 1.0))})
    # Another table is none of the judge's business, nor is a thing that nobody asks for.
    assert evaluator.keeps({"cup_0": Box((4.0, 1.9, 0.9), (5.1, 2.1, 1.0))})
    assert evaluator.keeps({"book_0": Box((1.0, 1.0, 1.2), (3.0, 3.0, 1.3))})
    # But it may come between the cup and the table.
    lab.on("cup_0", "table_0")
    evaluator.update(lab.state())
    assert not evaluator.keeps({"book_0": Box((1.0, 1.0, 0.7), (3.0, 3.0, 0.8))})


def test_what_is_carried_above_furniture_comes_to_be_in_none_of_it(make_lab) -> None:
    _, evaluator = _cup_in_the_air(make_lab, "is_inside", "toy_box_0")
    box = evaluator._scene.surroundings("toy_box_0")
    assert box is not None
    (x0, y0, _), (x1, y1, top_m) = box.minimum_m, box.maximum_m
    assert evaluator.keeps({"cup_0": Box((x0, y0, top_m + 0.1), (x1, y1, top_m + 0.2))})
    assert not evaluator.keeps({"cup_0": Box((x0, y0, top_m - 0.1), (x1, y1, top_m + 0.2))})
    # Beside it, it may be as low as it likes.
    assert evaluator.keeps({"cup_0": Box((x1 + 1.0, y0, 0.0), (x1 + 2.0, y1, top_m))})


# Where it begins and ends, one check at a time


def scene_of(lab) -> Scene:
    return Scene(lab.house, lab.entities)


def stays(lab, entry: str, movers: dict[str, Box], **args: object) -> bool:
    document = {"propositions": [{"function_name": entry, "args": args}]}
    proposition = read_evaluation(document, "one").propositions[0]
    scene = scene_of(lab)
    return keeps(Watch(proposition, scene), scene, movers)


def box(x: float, y: float = 5.0, z: float = 0.9, to_x: float | None = None) -> Box:
    """Of a thing of 0.1 m, carried along x."""
    last = x if to_x is None else to_x
    return Box((x - 0.05, y - 0.05, z), (last + 0.05, y + 0.05, z + 0.1))


SIDES = [(1, 0), (-1, 0), (0, 1), (0, -1)]


@pytest.mark.parametrize(("dx", "dy"), SIDES)
@pytest.mark.parametrize("turned", [False, True])
def test_beside_something_it_stays_apart_by_more_than_the_threshold(
    make_lab, dx: int, dy: int, turned: bool
) -> None:
    lab = make_lab(["cup_0", "plate_0", "pan_0"]).at("cup_0", 5, 5, 0.9)
    names = ["plate_0", "cup_0"] if turned else ["cup_0", "plate_0"]
    near = {"entities_a": names[:1], "entities_b": names[1:]}
    for gap, apart in ((0.49, False), (0.52, True)):
        way = box(5 + dx * (0.1 + gap), 5 + dy * (0.1 + gap))
        assert stays(lab, "is_next_to", {"plate_0": way}, **near) is apart
        group = [["cup_0"], ["plate_0"]]
        assert stays(lab, "is_clustered", {"plate_0": way}, entities=group) is apart
        wide = {**near, "l2_threshold": 1.0}
        assert not stays(lab, "is_next_to", {"plate_0": way}, **wide)
        assert stays(lab, "is_next_to", {"pan_0": way}, **near), "nobody asks for it"
    for z, apart in ((1.0, False), (1.03, True), (0.8, False), (0.77, True)):
        assert stays(lab, "is_next_to", {"plate_0": box(5, 5, z)}, **near) is apart
    both = {"plate_0": box(5.4), "cup_0": box(9.0)}
    assert stays(lab, "is_next_to", both, **near), "the other one moves as well"


def test_on_the_floor_comes_what_is_carried_low(make_lab) -> None:
    lab = make_lab(["cup_0", "plate_0"]).on("plate_0", "table_0")
    for z, stay in ((0.04, False), (0.07, True)):
        way = {"cup_0": box(5, z=z)}
        assert stays(lab, "is_on_floor", way, objects=["cup_0"]) is stay
        floor = {"objects": ["cup_0"], "receptacles": ["floor_kitchen_0"]}
        assert stays(lab, "is_on_top", way, **floor) is stay
        assert stays(lab, "is_on_floor", way, objects=["plate_0"])
    assert stays(lab, "is_clean", {"cup_0": box(5, z=0.0)}, objects=["cup_0"])


def test_a_room_is_neither_entered_nor_left(make_lab) -> None:
    lab = make_lab(["cup_0"]).at("cup_0", 5, 5, 0.9)
    rooms = {"objects": ["cup_0"], "rooms": ["kitchen_0", "living_room_0"]}
    for way, stay in ((box(5, to_x=8), True), (box(9, to_x=11), False), (box(12), True)):
        assert stays(lab, "is_in_room", {"cup_0": way}, **rooms) is stay


@pytest.mark.parametrize(("dx", "dy"), SIDES)
def test_a_table_is_approached_up_to_its_edge(make_lab, dx: int, dy: int) -> None:
    lab = make_lab(["cup_0", "plate_0"]).at("cup_0", 8, 5, 0.9)
    on = {"objects": ["cup_0"], "receptacles": ["table_0"]}
    for gap, stay in ((-0.02, False), (0.1, True)):
        way = {"cup_0": box(2 + dx * (0.55 + gap), 2 + dy * (0.55 + gap))}
        assert stays(lab, "is_on_top", way, **on) is stay
    # What is asked for may itself be moved below what it is asked for.
    carried = {"table_0": Box((7.5, 4.5, 0.0), (8.5, 5.5, 0.7))}
    assert not stays(lab, "is_on_top", carried, **on)


def relation(lab, movers: dict[str, Box], held: bool, *ground: str) -> bool:
    word, one, other = ground
    return keeps_relation(scene_of(lab), movers, (word, one, other), held=held)


@pytest.mark.parametrize(("dx", "dy"), SIDES)
def test_close_stays_what_comes_no_nearer_or_goes_no_further(make_lab, dx: int, dy: int) -> None:
    lab = make_lab(["cup_0"]).at("cup_0", 5, 5, 0.0)
    for gap, far in ((1.4, False), (1.45, False), (1.53, True)):
        middle = (5 + dx * (0.05 + gap), 5 + dy * (0.05 + gap), 0.5)
        way = {"agent_0": Box(middle, middle)}
        assert relation(lab, way, False, "CLOSE", "agent_0", "cup_0") is far
        assert relation(lab, way, False, "CLOSE", "cup_0", "agent_0") is far
        assert relation(lab, way, True, "CLOSE", "agent_0", "cup_0") is not far
    # From a middle beside it out to the far side of the other it is too long a way.
    long = (5 + dx * 1.6, 5 + dy * 1.6, 0.5)
    low, high = (tuple(f(a, b) for a, b in zip((5, 5, 0.5), long, strict=True)) for f in (min, max))
    assert not relation(lab, {"agent_0": Box(low, high)}, True, "CLOSE", "agent_0", "cup_0")


def test_close_over_a_corner_counts_by_its_length(make_lab) -> None:
    lab = make_lab(["cup_0"]).at("cup_0", 5, 5, 0.0)
    for side, near in ((1.0, True), (1.1, False)):
        middle = (5.05 + side, 5.05 + side, 0.5)
        way = {"agent_0": Box(middle, middle)}
        assert relation(lab, way, True, "CLOSE", "agent_0", "cup_0") is near
        assert relation(lab, way, True, "CLOSE", "cup_0", "agent_0") is (side < 0.9)
    assert not relation(lab, {}, False, "CLOSE", "agent_0", "cup_9"), "nobody knows where it is"


def test_what_is_in_a_hand_stays_close_to_its_agent(make_lab) -> None:
    lab = make_lab(["cup_0"]).at("cup_0", 5, 5, 0.9)
    lab.entities["agent_0"] = replace(lab.entities["agent_0"], class_name="robot")
    movers = {"agent_0": box(5, to_x=9), "cup_0": box(5, to_x=9)}
    grounds = (("CLOSE", "agent_0", "cup_0"), ("CLOSE", "cup_0", "agent_0"))
    assert not any(relation(lab, movers, True, *ground) for ground in grounds)
    held = replace(lab.entities["cup_0"], parent="agent_0", relation=Relation.HELD)
    lab.entities["cup_0"] = held
    assert all(relation(lab, movers, True, *ground) for ground in grounds)
    lab.entities["cup_0"] = replace(held, parent="agent_1")
    assert not any(relation(lab, movers, True, *ground) for ground in grounds)
    lab.entities["cup_0"] = replace(held, relation=Relation.ON)
    assert not any(relation(lab, movers, True, *ground) for ground in grounds)


def test_placements_stay_as_long_as_neither_comes_to_the_other(make_lab) -> None:
    lab = make_lab(["cup_0", "plate_0"]).at("cup_0", 8, 5, 0.9)
    away, over = {"cup_0": box(8, to_x=9)}, {"cup_0": box(2, 2, to_x=9)}
    for word in ("ON", "INSIDE"):
        assert relation(lab, away, False, word, "cup_0", "table_0")
        assert not relation(lab, away, True, word, "cup_0", "table_0"), "it may have left"
        assert not relation(lab, over, False, word, "cup_0", "table_0")
        table = {"table_0": Box((7.5, 4.5, 0.0), (8.5, 5.5, 0.7))}
        assert not relation(lab, table, False, word, "cup_0", "table_0")
    assert not relation(lab, away, False, "FACING", "cup_0", "table_0")
    for word, other, z, stay in (
        ("ON", "kitchen_0", 0.03, False),
        ("ON", "kitchen_0", 0.5, True),
        ("INSIDE", "floor_kitchen_0", 0.03, False),
        ("INSIDE", "floor_kitchen_0", 0.5, True),
        ("INSIDE", "kitchen_0", 0.03, True),
    ):
        assert relation(lab, {"cup_0": box(5, z=z)}, False, word, "cup_0", other) is stay
        assert relation(lab, {"plate_0": box(5, z=z)}, False, word, "cup_0", other)
    assert not relation(lab, {"cup_0": box(9, to_x=11)}, True, "INSIDE", "cup_0", "kitchen_0")


def test_only_what_is_below_a_thing_and_not_itself_comes_between(make_lab) -> None:
    lab = make_lab(["cup_0", "book_0"]).on("cup_0", "table_0")
    scene = scene_of(lab)
    cast = ["cup_0"]
    assert shadows_nothing(cast, scene, {"book_0": box(4, 2, 0.5)}), "beside it"
    assert not shadows_nothing(cast, scene, {"book_0": box(2, 2, 0.5)})
    assert shadows_nothing(cast, scene, {"cup_0": box(2, 2, 0.5)}), "itself"
    assert shadows_nothing([], scene, {"book_0": box(2, 2, 0.5)})
    assert shadows_nothing(["cup_9"], scene, {"book_0": box(2, 2, 0.5)})
    assert shadows_nothing(cast, scene, {"book_0": box(2, 2, 1.2)}), "above it"
    meeting = {"cup_0": box(6, 2, 0.9), "book_0": box(6, 2, 0.5)}
    assert not shadows_nothing(cast, scene, meeting), "where both of them go"
