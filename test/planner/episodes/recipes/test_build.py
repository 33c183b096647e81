"""Recipes: what they refuse, what their wishes become, and that nothing but the seed is chance."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from planner.cli import main
from planner.episodes.recipes.build import RecipeError, build
from planner.episodes.recipes.file import Recipe, evaluation_of, read_recipes, targets, task_types
from planner.world.errors import FileError

NAMES = {
    "cups": ["cup_0", "cup_1"],
    "plate": ["plate_0"],
    "tables": ["table_0", "table_1"],
    "desk": ["desk_0"],
    "bedrooms": ["bedroom_0", "bedroom_1"],
}
STARTS = {"cup_0": "desk_0", "cup_1": "couch_0", "plate_0": "couch_0"}


def _recipe(**changes: Any) -> Recipe:
    document: dict[str, Any] = {
        "name": "laid_0",
        "house": "train_0",
        "instruction": "Both cups and the plate go to a table in the living room.",
        "things": {
            "cups": {"class_name": "cup", "count": 2, "on_top": "counter", "room": "kitchen"},
            "plate": {"class_name": "plate", "on_top": "counter", "room": "kitchen"},
        },
        "places": {
            "tables": {"furniture": "table", "room": "living_room"},
            "desk": {"furniture": "desk"},
            "bedrooms": {"room": "bedroom"},
        },
        "goal": [_wish("is_on_top", ["cups", "plate"], ["tables"])],
    }
    return Recipe.model_validate(document | changes)


def _wish(predicate: str, things: list[str], at: list[str] | None = None, **more: Any) -> Any:
    return {"predicate": predicate, "things": things, "at": at or [], **more}


def _evaluation(**changes: Any) -> dict[str, Any]:
    return evaluation_of(targets(_recipe(**changes), NAMES), STARTS)


def _constraint(evaluation: dict[str, Any], kind: str) -> dict[str, Any]:
    (found,) = [c for c in evaluation["constraints"] if c["type"] == kind]
    return found


def test_every_thing_is_a_proposition_of_its_own() -> None:
    evaluation = _evaluation()
    firsts = [p["args"]["objects"] for p in evaluation["propositions"]]
    assert firsts == [["cup_0"], ["cup_1"], ["plate_0"]]
    assert evaluation["propositions"][0]["args"]["receptacles"] == ["table_0", "table_1"]
    assert evaluation["dependencies"] == []
    terminal = _constraint(evaluation, "TerminalSatisfactionConstraint")
    assert terminal["proposition_indices"] == [0, 1, 2]


def test_a_number_makes_one_proposition() -> None:
    spec = _wish("is_on_top", ["cups"], ["tables"], number=2, same_place="table")
    (proposition,) = _evaluation(goal=[spec])["propositions"]
    assert proposition["args"] == {
        "objects": ["cup_0", "cup_1"],
        "number": 2,
        "receptacles": ["table_0", "table_1"],
        "is_same_receptacle": True,
    }


def test_shared_and_different_places_are_ties() -> None:
    specs = [
        _wish("is_on_top", ["cups"], ["tables"], other_place="own"),
        _wish("is_on_top", ["plate"], ["tables"], same_place="one"),
        _wish("is_clean", ["tables"], number=1, same_place="one"),
    ]
    evaluation = _evaluation(goal=specs)
    different = _constraint(evaluation, "DifferentArgConstraint")
    assert (different["proposition_indices"], different["arg_indices"]) == ([0, 1], [1, 1])
    same = _constraint(evaluation, "SameArgConstraint")
    assert (same["proposition_indices"], same["arg_indices"]) == ([2, 3], [1, 0])


def test_neighbours_count_while_they_lie_where_they_were_sent() -> None:
    specs = [
        _wish("is_on_top", ["cups", "plate"], ["tables"]),
        _wish("is_next_to", ["cups"], ["cups"]),
        _wish("is_next_to", ["plate"], ["cups"]),
    ]
    evaluation = _evaluation(goal=specs)
    assert len(evaluation["propositions"]) == 5, "of a pair one says it for both"
    assert evaluation["dependencies"] == [
        {"proposition_indices": [3], "depends_on": [0, 1], "relation_type": "while_satisfied"},
        {"proposition_indices": [4], "depends_on": [0, 1, 2], "relation_type": "while_satisfied"},
    ]


def test_a_second_journey_counts_after_the_first_which_need_not_last() -> None:
    steps = [
        [_wish("is_on_top", ["plate"], ["tables"])],
        [_wish("is_on_top", ["plate"], ["desk"]), _wish("is_on_top", ["cups"], ["desk"])],
    ]
    evaluation = _evaluation(goal=[], steps=steps)
    assert _constraint(evaluation, "TemporalConstraint")["edges"] == [[0, 1], [0, 2], [0, 3]]
    gated = [d["proposition_indices"] for d in evaluation["dependencies"]]
    # The plate because it was sent elsewhere before, cup_0 because it is there from the start.
    assert gated == [[1], [2]]
    terminal = _constraint(evaluation, "TerminalSatisfactionConstraint")
    assert terminal["proposition_indices"] == [1, 2, 3]


def test_what_is_undone_need_not_last() -> None:
    specs = [
        _wish("is_filled", ["cups"], lasts=False),
        _wish("is_in_room", ["plate"], ["bedrooms"]),
    ]
    terminal = _constraint(_evaluation(goal=specs), "TerminalSatisfactionConstraint")
    assert terminal["proposition_indices"] == [2]


def test_a_rooms_later_step_is_gated_for_it_may_be_passed_through() -> None:
    steps = [
        [_wish("is_clean", ["plate"])],
        [_wish("is_in_room", ["plate"], ["bedrooms"])],
    ]
    recipe = _recipe(goal=[], steps=steps)
    found = targets(recipe, NAMES)
    (gate,) = evaluation_of(found, STARTS)["dependencies"]
    assert gate["relation_type"] == "after_satisfied"
    assert task_types(found) == ("temporal", "heterogeneous")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"goal": []}, "needs a goal or steps"),
        ({"steps": [[_wish("is_clean", ["plate"])]]}, "one step alone"),
        ({"goal": [_wish("is_on_top", ["forks"], ["tables"])]}, "'forks' is neither"),
        ({"goal": [_wish("is_on_top", ["plate"])]}, "needs `at`"),
        ({"goal": [_wish("is_clean", ["plate"], ["tables"])]}, "has no `at`"),
        ({"goal": [_wish("is_clustered", ["cups"], ["cups"])]}, "written as is_next_to"),
        ({"things": {"plate": {"class_name": "plate"}}}, "either on_top or inside"),
        ({"places": {"tables": {}}}, "furniture or room"),
        ({"places": {"plate": {"room": "kitchen"}}}, "both a thing and a place"),
        ({"slices": {"plate": "tables"}}, "labels of their own"),
    ],
)
def test_a_bad_recipe_is_refused(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        _recipe(**changes)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"places": {"tables": {"furniture": "toy_box"}}}, "train_0 has no toy_box"),
        ({"places": {"tables": {"room": "garage"}}}, "no room 'garage'"),
        (
            {"goal": [_wish("is_on_top", ["cups"], ["tables"], number=3)]},
            "3 of 2 can never be met",
        ),
        (
            {
                "things": {"cups": {"class_name": "spoonfork", "on_top": "counter"}},
                "goal": [_wish("is_on_top", ["cups"], ["tables"])],
            },
            "unknown class of object",
        ),
    ],
)
def test_what_the_house_lacks_is_named(changes: dict[str, Any], reason: str) -> None:
    document = _recipe().model_dump(mode="json")
    for key, value in changes.items():
        document[key] = document[key] | value if isinstance(value, dict) else value
    with pytest.raises(RecipeError, match=reason):
        build(Recipe.model_validate(document))


def test_a_goal_without_room_is_refused() -> None:
    # Eight boxes do not fit on the seat of one chair.
    boxes = {"boxes": {"class_name": "storage_box", "count": 8, "on_top": "floor"}}
    chair = {"chair": {"furniture": "chair_0"}}
    goal = [_wish("is_on_top", ["boxes"], ["chair"])]
    with pytest.raises(RecipeError, match="no arrangement"):
        build(_recipe(things=boxes, places=chair, goal=goal))


def test_only_the_seed_changes_an_episode() -> None:
    first, again, other = (build(_recipe(seed=seed)).episode for seed in (0, 0, 1))
    assert first == again
    assert first.objects != other.objects
    assert first.instruction == other.instruction


def test_clutter_is_nothing_that_the_words_mean() -> None:
    words = "All the dishes, that is both cups and the plate, go to a table in the living room."
    for seed in range(6):
        episode = build(_recipe(seed=seed, instruction=words)).episode
        spare = {item.class_name for item in episode.objects} - {"cup", "plate"}
        assert not spare & {"bowl", "glass", "ramekin", "tray"}


def test_cleared_places_get_no_clutter() -> None:
    clear = _recipe(clear=["tables"])
    for seed in range(6):
        episode = build(clear.model_copy(update={"seed": seed})).episode
        asked = {"cup", "plate"}
        tables = {n for p in _tables(episode.evaluation) for n in p}
        assert not any(
            item.parent in tables for item in episode.objects if item.class_name not in asked
        )


def _tables(evaluation: Any) -> list[list[str]]:
    return [p["args"]["receptacles"] for p in evaluation["propositions"]]


def test_a_broken_file_names_the_field(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("version: 1\nepisodes:\n  - {name: Bad}\n")
    with pytest.raises(FileError, match=r"bad\.yaml: episodes\.0\.name"):
        read_recipes(tmp_path)


@pytest.mark.slow
def test_the_command_builds_and_lists(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "train").mkdir()
    (tmp_path / "train" / "stale_0.json").write_text("{}")
    assert main(["episodes", "build", "-o", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "stale_0.json" in printed
    (tmp_path / "train" / "stale_0.json").unlink()
    assert main(["episodes", "list", str(tmp_path / "train")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["NAME", "HOUSE", "TYPES", "GOALS", "INSTRUCTION"]
    (demo,) = [line.split() for line in lines if line.startswith("demo_dinner ")]
    assert demo[1:4] == ["train_6", "spatial,temporal,heterogeneous", "6"]


def test_slices_belong_to_what_they_come_from() -> None:
    things = {
        "bread": {"class_name": "bread", "on_top": "counter", "room": "kitchen"},
        "plate": {"class_name": "plate", "on_top": "counter", "room": "kitchen"},
    }
    goal = [{"predicate": "is_on_top", "things": ["toast"], "number": 2, "at": ["plate"]}]
    more: dict[str, Any] = {"things": things, "goal": goal}
    built = build(_recipe(**more, slices={"bread": "toast"}))
    assert built.targets[0].names == tuple(f"bread_slice_{k}" for k in range(10))
    assert "bread_0" in {item.name for item in built.episode.objects}
    assert "bread_0" not in built.rehearsal[0]
    with pytest.raises(RecipeError, match="plate has no slices"):
        build(_recipe(**more, slices={"plate": "toast"}))
