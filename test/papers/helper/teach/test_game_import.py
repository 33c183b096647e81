"""The importer of TEACh's games, with files of their layout and our own content (HELPER-D86)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from papers.helper.teach.game_import import import_games
from planner.cli import main
from planner.commands.episodes import solve_with_expert
from planner.episodes.importing.importer import Imported
from planner.world.episode import TeachTask
from planner.world.errors import FileError

BREAKFAST = ["1", "1", "0", "Plate", "0", "Plate", "0", "0", "0", "0", "0", "0", "0", "DiningTable"]
TASKS: dict[str, tuple[list[str], TeachTask]] = {
    "Water Plant": ([], TeachTask.WATER_PLANT),
    "Coffee": ([], TeachTask.MAKE_COFFEE),
    "Clean All X": (["Drinkware"], TeachTask.CLEAN_ALL),
    "Put All X On Y": (["Fork", "on", "DiningTable"], TeachTask.PUT_ALL_ON),
    "Put All X In One Y": (["Fork", "in", "Sink"], TeachTask.PUT_ALL_IN_ONE),
    "Boil X": (["Potato"], TeachTask.BOIL_POTATO),
    "N Slices Of X In Y": (["2", "Tomato", "on", "Plate"], TeachTask.N_SLICES),
    "N Cooked Slices Of X In Y": (["1", "Potato", "on", "Plate"], TeachTask.N_COOKED_SLICES),
    "Plate Of Toast": ([], TeachTask.PLATE_OF_TOAST),
    "Breakfast": (BREAKFAST, TeachTask.BREAKFAST),
    "Sandwich": (["1", "1"], TeachTask.SANDWICH),
    "Salad": (["1", "1", "1"], TeachTask.SALAD),
}


def game(name: str, parameters: list[str], **more: Any) -> dict[str, Any]:
    """A game whose scene has two forks and two mugs."""
    objects = [
        {"objectId": f"{kind}|{n}", "objectType": kind, "isDirty": kind == "Mug", "position": {}}
        for kind in ("Fork", "Mug")
        for n in range(2)
    ]
    episode = {
        "episode_id": name.lower().replace(" ", "_"),
        "world": "FloorPlan7_physics",
        "world_type": "Kitchen",
        "initial_state": {"time_start": 0, "agents": [], "objects": objects},
        "interactions": [
            {"agent_id": 1, "action_id": 100, "success": 1, "utterance": "What shall I do?"},
            {"agent_id": 0, "action_id": 100, "success": 1, "utterance": "Please begin.\n"},
            {"agent_id": 1, "action_id": 2, "success": 1},
            {"agent_id": 0, "action_id": 500, "success": 1},
        ],
        **more,
    }
    return {"task_id": 1, "task_name": name, "task_params": parameters, "episodes": [episode]}


def imported(folder: Path, *tasks: object) -> Imported:
    path = folder / "game.json"
    path.write_text(json.dumps({"version": "2.0", "tasks": list(tasks)}), encoding="utf-8")
    return import_games([path], 0)


@pytest.mark.slow
def test_every_type_becomes_an_episode_with_its_dialogue_and_a_goal(tmp_path: Path) -> None:
    found = imported(tmp_path, *(game(name, given) for name, (given, _) in TASKS.items()))
    assert found.left_out == ()
    assert dict(found.read) == {"game.json": 12}
    for episode, (_, task_type) in zip(found.episodes, TASKS.values(), strict=True):
        assert episode.dialogue is not None
        assert episode.dialogue.task_type is task_type
        assert episode.instruction == "<Driver> What shall I do? <Commander> Please begin."
        assert episode.evaluation is not None
        assert episode.source is not None
        assert "1 actions of the Driver" in episode.source.not_taken
    forks = found.episodes[3]
    assert sum(item.class_name == "fork" for item in forks.objects) == 2


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Put All X On Y", "Salad"])
def test_the_command_imports_what_the_expert_solves(tmp_path: Path, name: str) -> None:
    source, out = tmp_path / "game.json", tmp_path / "out"
    source.write_text(json.dumps({"tasks": [game(name, TASKS[name][0])]}), encoding="utf-8")
    assert main(["episodes", "import", "teach", str(source), "-o", str(out)]) == 0
    (path,) = (path for path in out.glob("*.json") if path.name != "import_report.json")
    assert solve_with_expert(path) == ""


@pytest.mark.parametrize(
    ("task", "reason"),
    [
        (game("Omelette", []), "none of TEACh's twelve types"),
        (game("Clean All X", ["Plate"]), "its scene has no 'Plate'"),
        (game("Clean All X", []), "task_params: none"),
        (game("N Slices Of X In Y", ["many", "Tomato", "on", "Plate"]), "task_params: many"),
        (game("N Slices Of X In Y", ["9", "Tomato", "on", "Plate"]), "9 is not 0 to 4"),
        (game("Put All X On Y", ["Fork", "on", "Spaceship"]), "nothing like 'Spaceship'"),
        (game("Breakfast", ["2", *BREAKFAST[1:]]), "several dishes"),
        (game("Coffee", [], world="FloorPlan301_physics"), "is not a kitchen"),
        (game("Coffee", [], interactions=[]), "nobody says anything"),
        (game("Coffee", [], episode_id=""), "episodes.0.episode_id"),
        ("coffee", "tasks.0"),
    ],
)
def test_what_cannot_be_imported_is_left_out_with_its_reason(tmp_path, task, reason) -> None:
    found = imported(tmp_path, task)
    assert found.episodes == ()
    (fault,) = found.left_out
    assert reason in f"{fault.episode_id} {fault.reason}"


@pytest.mark.parametrize("text", ["", "[]", '{"tasks": []}', '{"tasks": NaN}', "{" * 100_000])
def test_a_file_that_is_no_game_is_one_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "game.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FileError, match=r"game\.json"):
        import_games([path], 0)
