"""Where the judge says that nothing changes while things are carried, nothing does."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from planner.evaluation.evaluator import Evaluator
from planner.evaluation.language import read_evaluation
from planner.evaluation.predicates import Watch
from planner.evaluation.scene import Scene, world_box
from planner.world.geometry import Box, Pose

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
