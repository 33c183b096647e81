"""PARTNR's `initial_furniture_state`: which pieces start in which state, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from papers.partnr.episodes.importing import import_instructions
from planner.episodes.lint.linting import Linter
from planner.world.catalogue import default_catalogue
from planner.world.house_checks import check_episode

Document = dict[str, Any]
LAMP = {
    "number": 1,
    "object_classes": ["lamp"],
    "furniture_names": ["table_4"],
    "allowed_regions": ["living_room_0"],
}
DIRTY = {"is_clean": False}


def _entry(task: int, **record: object) -> Document:
    return {
        "instruction": "Tell me a story.",
        "initial_state": [LAMP],
        "initial_furniture_state": [{"object_states": DIRTY, **record}],
        "scene_id": "villa",
        "episode_id": task,
    }


PLATE = {**LAMP, "object_classes": ["plate"]}
CUP = {**LAMP, "object_classes": ["cup"]}
RADIO = {**LAMP, "object_classes": ["radio"]}


def _asking(task: int, words: str, *records: Document) -> Document:
    head = {"scene_id": "villa", "episode_id": task}
    return {"instruction": words, "initial_state": list(records), **head}


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = tmp_path_factory.mktemp("states") / "train_states.json"
    entries = [
        _entry(0, furniture_classes=["table"], allowed_regions=["living_room_0"]),
        _entry(1, furniture_names=["table_4"]),
        _entry(2, furniture_classes=["chair"], number="1", allowed_regions=["kitchen_0"]),
        _entry(3, furniture_classes=["oven"], allowed_regions=["kitchen"]),
        _entry(4, furniture_classes=["throne"]),
        _entry(5, furniture_classes=["tv"], allowed_regions=["living_room_0"]),
        _entry(6, furniture_names=["table_99"]),
        _entry(7, furniture_classes=["table"], allowed_regions=["dungeon"]),
        _asking(8, "Wash the plate. Turn off the radio. Fill the cup.", PLATE, RADIO, CUP),
        _asking(9, "Clean the living room table. Fill the cup and then empty it.", CUP),
        _asking(10, "Clean the plate.", {**PLATE, "object_states": {"is_clean": True}}),
    ]
    path.write_text(json.dumps(entries), encoding="utf-8")
    return import_instructions([path], 3)


def _of(imported: Any, number: int) -> Any:
    return next(e for e in imported.episodes if e.source.episode_id == str(number))


def test_furniture_starts_in_its_states(imported: Any) -> None:
    (scene,) = imported.scenes.values()
    in_room = {
        p.name
        for p in scene.house.furniture
        if (p.class_name, p.room) == ("table", "living_room_0")
    }
    assert set(_of(imported, 0).furniture) == in_room
    assert {c.states["clean"] for c in _of(imported, 0).furniture.values()} == {False}
    assert set(_of(imported, 1).furniture) == {"table_4"}
    (chair,) = _of(imported, 2).furniture
    assert scene.house.furniture_by_name[chair].room == "kitchen_0"
    (oven,) = _of(imported, 3).furniture
    assert scene.house.furniture_by_name[oven].class_name == "oven"
    for episode in imported.episodes:
        assert check_episode(episode, scene.house, default_catalogue()) == []


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        (4, "furniture class 'throne' is not in the catalogue"),
        (5, "cannot be clean"),
        (6, "table_99"),
        (7, "unknown region 'dungeon'"),
    ],
)
def test_what_cannot_be_is_left_out_with_its_reason(
    imported: Any, number: int, reason: str
) -> None:
    (fault,) = [f for f in imported.left_out if f.episode_id == str(number)]
    assert reason in fault.reason


def test_what_is_asked_for_starts_in_the_other_state(imported: Any) -> None:
    (scene,) = imported.scenes.values()
    changed = _of(imported, 8)
    assert changed.evaluation is not None
    states = {item.class_name: item.states for item in changed.objects}
    assert states["plate"]["clean"] is False
    assert states["radio"]["powered_on"] is True
    assert states["cup"]["filled"] is False
    cleaned = _of(imported, 9)
    assert {c.states["clean"] for c in cleaned.furniture.values()} == {False}
    (cup,) = cleaned.objects
    assert cup.states["filled"] is False
    assert Linter().findings(changed, scene.house) == []


def test_a_state_that_the_file_gives_is_kept_and_no_goal_is_true_at_the_start(
    imported: Any,
) -> None:
    given = _of(imported, 10)
    assert given.objects[0].states["clean"] is True
    assert given.evaluation is None
    reasons = {item.episode_id: item.reason for item in imported.without_goal}
    assert "satisfied already at the start" in reasons[given.episode_id]
