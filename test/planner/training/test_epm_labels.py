"""EPM-C33 to EPM-C36: the labels and the balance of EPM's training data."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from planner.memory.updater import Operation
from planner.training.vision_tuning import (
    TRAIN_FILE,
    LabelRules,
    Sample,
    SampleKind,
    balanced,
    kind_of,
    labels,
    phantom,
    write_balanced,
    write_samples,
)
from planner.world.belief import Entity, OperationKind
from planner.world.errors import FileError
from planner.world.geometry import Pose
from planner.world.observation import CameraFrame, Intrinsics
from planner.world.state import EntityState, WorldState
from planner.world.vocabulary import EntityKind, Relation

LENS = Intrinsics(384, 384, 300.0, 300.0, 192.0, 192.0)
TABLE = Entity(119, "table_0", "table", True, "table", (0.0, 0.0, 2.0))
CUP = Entity(149, "cup_0", "cup", False, "cup with the Object.119", (0.0, 0.0, 2.0))


def frame(depth_m: float = 2.0, *, cup: bool = True, table: bool = True) -> CameraFrame:
    instances = np.zeros((384, 384), np.int32)
    if table:
        instances[200:300, 50:300] = 1
    if cup:
        instances[100:141, 60:81] = 2
    depth = np.full((384, 384), depth_m, np.float32)
    rgb = np.zeros((384, 384, 3), np.uint8)
    return CameraFrame(rgb, depth, instances, LENS, Pose((0.0, 0.0, 0.0)))


def world(held: bool = False, openness: float | None = None) -> WorldState:
    def entity(name: str, number: int, kind: EntityKind, **more: object) -> EntityState:
        return EntityState(
            name=name,
            kind=kind,
            class_name=name.partition("_")[0],
            instance_id=number,
            pose=Pose((0.0, 0.0, 2.0)),
            size_m=(0.1, 0.1, 0.1),
            **more,  # type: ignore[arg-type]
        )

    cup = entity(
        "cup_0",
        2,
        EntityKind.OBJECT,
        parent="agent_0" if held else "table_0",
        relation=Relation.HELD if held else Relation.ON,
        room="kitchen_0",
    )
    table = entity(
        "table_0",
        1,
        EntityKind.FURNITURE,
        parent="kitchen_0",
        relation=None,
        room="kitchen_0",
        openness=openness,
    )
    return WorldState(0.0, 0, 0, "h", "e", {"cup_0": cup, "table_0": table})


def told(made: list[Operation]) -> list[tuple[OperationKind, int | None, str]]:
    return [(o.kind, o.entity_id, o.description) for o in made]


def test_check_33_a_new_thing_is_added_at_the_middle_of_its_box() -> None:
    (made,) = labels(frame(), world(), [TABLE], LabelRules())
    assert told([made]) == [(OperationKind.ADD, None, "cup with the Object.119")]
    assert made.pixel == (70, 120)


def test_check_33_nothing_is_added_from_beyond_six_metres() -> None:
    assert labels(frame(6.5), world(), [TABLE], LabelRules()) == []
    assert labels(frame(6.0), world(), [TABLE], LabelRules()) == []


def test_check_33_the_furniture_is_named_only_where_it_shows() -> None:
    (made,) = labels(frame(table=False), world(), [TABLE], LabelRules())
    assert made.description == "cup"


def test_check_34_picked_and_placed() -> None:
    (made,) = labels(frame(cup=False), world(held=True), [TABLE, CUP], LabelRules())
    assert told([made]) == [(OperationKind.UPDATE, 149, "cup picked")]
    held = Entity(149, "cup_0", "cup", False, "cup", (0.0, 0.0, 2.0), picked=True)
    (made,) = labels(frame(), world(), [TABLE, held], LabelRules())
    assert told([made]) == [(OperationKind.UPDATE, 149, "cup with the Object.119 placed")]


def test_check_34_opened_and_closed() -> None:
    (made,) = labels(frame(cup=False), world(openness=1.0), [TABLE], LabelRules())
    assert told([made]) == [(OperationKind.UPDATE, 119, "table open")]
    was_open = Entity(119, "table_0", "table", True, "table open", (0, 0, 2), openness=1.0)
    (made,) = labels(frame(cup=False), world(openness=0.0), [was_open], LabelRules())
    assert told([made]) == [(OperationKind.UPDATE, 119, "table closed")]


def test_a_known_thing_is_updated_where_its_furniture_shows_as_the_rule_says() -> None:
    (made,) = labels(frame(), world(), [TABLE, CUP], LabelRules())
    assert told([made]) == [(OperationKind.UPDATE, 149, "cup with the Object.119")]
    assert labels(frame(), world(), [TABLE, CUP], LabelRules(update_known=False)) == []


def test_a_point_without_depth_gets_no_label() -> None:
    blind = frame()
    blind.depth_m[120, 70] = math.nan
    assert labels(blind, world(), [TABLE], LabelRules()) == []


def test_check_35_a_phantom_was_seen_from_farther_than_its_place_is() -> None:
    rng = np.random.default_rng(4)
    ghost = phantom(frame(2.0), ["cup", "book"], 150, rng)
    assert ghost is not None
    assert ghost.entity_id == 150
    assert ghost.seen_distance_m is not None
    assert ghost.seen_distance_m > 2.0
    assert phantom(frame(0.0), ["cup"], 150, rng) is None


def test_check_36_equal_shares_and_one_remove_in_a_hundred() -> None:
    kinds = [SampleKind.NONE] * 900 + [SampleKind.UPDATE] * 700 + [SampleKind.ADD] * 500
    kinds += [SampleKind.REMOVE] * 60
    chosen = [kinds[i] for i in balanced(kinds, np.random.default_rng(1))]
    counts = {kind: chosen.count(kind) for kind in SampleKind}
    assert counts[SampleKind.NONE] == counts[SampleKind.UPDATE] == counts[SampleKind.ADD] == 500
    assert counts[SampleKind.REMOVE] / len(chosen) == pytest.approx(0.01, abs=0.001)


def test_the_rarest_kind_names_a_sample() -> None:
    add, remove = Operation(OperationKind.ADD), Operation(OperationKind.REMOVE)
    assert kind_of([]) is SampleKind.NONE
    assert kind_of([Operation(OperationKind.UPDATE)]) is SampleKind.UPDATE
    assert kind_of([Operation(OperationKind.UPDATE), add]) is SampleKind.ADD
    assert kind_of([add, remove]) is SampleKind.REMOVE


def test_samples_are_lines_with_pictures_beside_them(tmp_path: Path) -> None:
    image = np.random.default_rng(0).integers(0, 255, (384, 384, 3), np.uint8)
    for index, kind in enumerate((SampleKind.NONE, SampleKind.UPDATE, SampleKind.ADD)):
        sample = Sample(image, "a prompt", "No updates", kind)
        assert write_samples(tmp_path, index, "e", [sample] * 2) == 2
    before, after = write_balanced(tmp_path, 3, seed=1)
    assert before == after == {"none": 2, "update": 2, "add": 2, "remove": 0}
    lines = (tmp_path / TRAIN_FILE).read_text().splitlines()
    record = json.loads(lines[0])
    assert [m["role"] for m in record["messages"]] == ["user", "assistant"]
    assert record["messages"][0]["content"][0] == {"type": "image"}
    assert (tmp_path / record["images"][0]).is_file()
    with pytest.raises(FileError, match=r"shard-00003.samples\.jsonl"):
        write_balanced(tmp_path, 4, seed=1)
