"""Task files in the graph world: graphs made of what tasks say, and the environments' own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from graph_tasks import CATEGORIES, write_tasks

from papers.et_plan_bench.published.task_graphs import import_into_graphs
from planner.app.bodily_task_world import play_reference, play_with_body
from planner.cli import main
from planner.episodes.importing.importer import Imported
from planner.episodes.lint.linting import Linter
from planner.world.errors import PlannerError
from planner.world.house_checks import load_episode


def _line(criterion: str, plan: list[str], **more: Any) -> dict[str, Any]:
    lines = [f"<char0> {step}" for step in plan]
    task = {"task": "Do it.", "task_completion_criterion": criterion, "env_id": 1}
    return {**task, "ground_truth_plan": lines, **more}


def _imported(folder: Path, *lines: dict[str, Any]) -> Imported:
    path = folder / "tasks.json"
    path.write_text("\n".join(json.dumps(line) for line in lines), encoding="utf-8")
    return import_into_graphs([path])


def _played(result: Imported) -> list[str]:
    return [play_reference(e, result.houses[e.house]) for e in result.episodes]


STRANGE = _line(
    "(CLOSE, robot, gadget)(CLOSE, robot, wardrobething)(INSIDE, gadget, wardrobething)"
    "(ON, gadget, shelfthing)(INSIDE, wardrobething, bedroom)(FACING, gadget, tv)",
    [
        "[walk] <kitchen> (1)",
        "[walk] <gadget> (3)",
        "[grab] <gadget> (3)",
        "[walk] <bedroom> (4)",
        "[walk] <wardrobething> (5)",
        "[open] <wardrobething> (5)",
        "[put] <gadget> (3) <wardrobething> (5)",
        "[close] <wardrobething> (5)",
    ],
)


def test_words_that_no_catalogue_has_are_loaded_and_played(tmp_path: Path) -> None:
    result = _imported(tmp_path, STRANGE)
    (made,) = result.episodes
    house = result.houses[made.house]
    gadget = next(item for item in house.objects if item.name == "gadget_3")
    # By the criterion; the plan shows the room only.
    assert gadget.parent.startswith("shelfthing_")
    assert made.criteria is not None
    assert (
        made.criteria.reference_calls[-2] == "Place[gadget_3, within, wardrobething_5, None, None]"
    )
    assert _played(result) == [""]


def test_bodies_carry_out_what_takes_two_hands(tmp_path: Path) -> None:
    """One thing at a time, with a hand to open the fridge; and two things at a time."""
    take = ["[walk] <kitchen> (1)", "[walk] <ring> (3)", "[grab] <ring> (3)"]
    fridge = ["[walk] <fridge> (5)", "[open] <fridge> (5)", "[putin] <ring> (3) <fridge> (5)"]
    one = _line("(CLOSE, robot, ring)(INSIDE, ring, fridge)", [*take, *fridge])
    more = ["[walk] <gem> (4)", "[grab] <gem> (4)", "[walk] <desk> (6)"]
    puts = ["[put] <ring> (3) <desk> (6)", "[put] <gem> (4) <desk> (6)"]
    two = _line("(ON, ring, desk)(ON, gem, desk)", [*take, *more, *puts])
    result = _imported(tmp_path, one, two)
    assert [play_with_body(e, result.houses[e.house]) for e in result.episodes] == ["", ""]


def test_what_is_taken_lies_in_the_room_of_its_plan(tmp_path: Path) -> None:
    """Also where another plan does not walk back to the place, which is in another room."""
    take = ["[walk] <kitchen> (1)", "[walk] <ring> (3)", "[grab] <ring> (3)"]
    gone = _line("(INSIDE, ring, desk)", [*take, "[putin] <ring> (3) <desk> (6)"])
    desk = _line("(CLOSE, robot, desk)", ["[walk] <bedroom> (7)", "[walk] <desk> (6)"])
    result = _imported(tmp_path, desk, gone, _line("(CLOSE, robot, ring)", take))
    (house,) = result.houses.values()
    (ring,) = house.objects
    assert ring.parent == "floor_kitchen_1"
    assert house.room_at(*ring.pose[:2]) == "kitchen_1"
    last = result.episodes[2]
    assert play_with_body(last, house) == ""


def test_all_tasks_of_an_environment_share_its_graph(tmp_path: Path) -> None:
    found = _line("(CLOSE, robot, shelfthing)", ["[walk] <kitchen> (1)", "[walk] <shelfthing> (2)"])
    reach = _line(
        "(CLOSE, robot, ring)(INSIDE, ring, wardrobething)",
        ["[walk] <bedroom> (4)", "[walk] <ring> (6)", "[grab] <ring> (6)"],
    )
    result = _imported(tmp_path, STRANGE, found, reach)
    (house,) = result.houses.values()
    assert next(i for i in house.objects if i.name == "gadget_3").parent == "shelfthing_2"
    # One plan opens the wardrobe, the other reaches into it as if it were open.
    assert [bool(e.furniture) for e in result.episodes] == [False, False, True]
    assert _played(result) == ["", "", ""]


@pytest.mark.parametrize("criterion", ["(ON, bed, rug)", "(ON, bed, floor)", "(ON, bed, wall)"])
def test_furniture_stands_on_what_criteria_say(criterion: str, tmp_path: Path) -> None:
    plan = ["[walk] <bedroom> (1)", "[walk] <bed> (2)"]
    rug = _line("(CLOSE, robot, rug)", ["[walk] <bedroom> (1)", "[walk] <rug> (3)"])
    assert _played(_imported(tmp_path, _line(f"(CLOSE, robot, bed){criterion}", plan), rug)) == [
        "",
        "",
    ]


def test_a_class_related_to_itself_means_two_of_it(tmp_path: Path) -> None:
    plan = ["[walk] <bathroom> (1)", "[walk] <towel> (2)", "[grab] <towel> (2)"]
    result = _imported(tmp_path, _line("(CLOSE, robot, towel)(ON, towel, towel)", plan))
    assert _played(result) == [""]


def test_a_plan_that_does_not_do_it_says_why(tmp_path: Path) -> None:
    plan = ["[walk] <kitchen> (1)", "[walk] <desk> (2)"]
    missed = _line("(CLOSE, robot, bed)(INSIDE, bed, bedroom)", plan)
    closed = _line(
        "(CLOSE, robot, cup)(INSIDE, cup, sink)",
        ["[walk] <bedroom> (7)", "[walk] <cup> (3)", "[put] <cup> (3) <sink> (4)"],
    )
    assert _played(_imported(tmp_path, missed, closed)) == [
        "At the end agent_0 is not close to bed_100000.",
        "step 3, Place[cup_3, within, sink_4, None, None]: violated precondition: held",
    ]


@pytest.mark.parametrize("own", [True, False])
def test_the_command_takes_the_environments_graphs_or_makes_them(own: bool, tmp_path: Path) -> None:
    graph, lines = write_tasks(tmp_path, len(CATEGORIES))
    scenes, out = tmp_path / "scenes", tmp_path / "out"
    scenes.mkdir()
    graph.rename(scenes / "env_0.json")
    option = ["--scenes", str(scenes)] if own else ["--graph"]
    command = ["episodes", "import", "et-plan-bench", str(lines), *option]
    assert main([*command, "-o", str(out)]) == 0
    files = sorted(out.glob("tasks-*.json"))
    assert len(files) == len(CATEGORIES)
    for file in files:
        assert play_reference(*load_episode(file)) == ""


def test_a_missing_graph_is_named_with_its_tasks(tmp_path: Path) -> None:
    path = tmp_path / "tasks.json"
    path.write_text(json.dumps(STRANGE), encoding="utf-8")
    result = import_into_graphs([path], tmp_path / "scenes")
    assert not result.episodes
    assert "has no graph of environment 1: 1.json" in result.left_out[0].reason


def test_without_calls_there_is_nothing_to_play(tmp_path: Path) -> None:
    result = _imported(tmp_path, STRANGE)
    (made,) = result.episodes
    bare = made.model_copy(update={"criteria": None})
    with pytest.raises(PlannerError, match="there is no reference plan"):
        play_reference(bare, result.houses[made.house])


def test_things_hold_things_that_no_catalogue_has(tmp_path: Path) -> None:
    plan = [
        "[walk] <kitchen> (1)",
        "[walk] <gadget> (3)",
        "[grab] <gadget> (3)",
        "[walk] <gizmo> (5)",
        "[putin] <gadget> (3) <gizmo> (5)",
        "[grab] <gizmo> (5)",
        "[walk] <fridge> (6)",
        "[putin] <gizmo> (5) <fridge> (6)",
    ]
    steps = "STEP_1: (INSIDE, gadget, gizmo) STEP_2: (CLOSE, robot, fridge)(INSIDE, gizmo, fridge)"
    result = _imported(tmp_path, _line(steps, plan))
    result.write(tmp_path / "out")
    assert Linter().lint(tmp_path / "out" / "tasks-1.json").errors == 0
    assert result.episodes[0].evaluation is not None
    assert _played(result) == [""]
