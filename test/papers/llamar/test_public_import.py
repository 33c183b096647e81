"""The importer of LLaMAR's public task list, with files of its layout and our own content."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from papers.llamar.public_import import import_public
from planner.cli import main
from planner.commands.episodes import solve_with_expert
from planner.episodes.importing.importer import Imported, UnplaceableError
from planner.episodes.importing.simulator_words import thor_class, thor_room
from planner.episodes.lint.linting import Linter
from planner.world.catalogue import default_catalogue
from planner.world.episode import Episode
from planner.world.errors import FileError

Document = dict[str, Any]


def task(name: str, *items: str, plans: tuple[str, ...] = ("FloorPlan3",), **more: object):
    return {
        "task_name": name,
        "task_description": "Do what the checklist says.",
        "task_id": 1,
        "task_timeout": 30,
        "task_floorplans": list(plans),
        "task_checklist": list(items),
        **more,
    }


def bring(thing: str, place: str) -> tuple[str, ...]:
    return (
        f"NavigateTo({thing})", f"PickupObject({thing})",
        f"NavigateTo({place}, {thing})", f"PutObject({place}, {thing})",
    )  # fmt: skip


def imported(folder: Path, *tasks: object, **more: Any) -> Imported:
    path = folder / "config_type.json"
    path.write_text(json.dumps({"tasks": list(tasks)}), encoding="utf-8")
    return import_public([path], 0, **more)


def single(folder: Path, *tasks: object) -> Episode:
    found = imported(folder, *tasks)
    assert found.left_out == ()
    (episode,) = found.episodes
    return episode


FRIDGE = task(
    "1_milk_bread_fridge",
    *bring("Bread", "Fridge"), *bring("Tomato", "Fridge"), *bring("Lettuce", "Fridge"),
    "OpenObject(Fridge)", "CloseObject(Fridge)",
)  # fmt: skip


def test_a_transport_task_keeps_its_checklist_and_gets_a_goal(tmp_path: Path) -> None:
    found = single(tmp_path, FRIDGE)
    assert found.episode_id == "1_milk_bread_fridge-FloorPlan3"
    assert found.house == "llamar-FloorPlan3"
    assert found.instruction == "Do what the checklist says."
    assert found.checklist is not None
    assert len(found.checklist.subtasks) == 14
    assert found.checklist.subtasks[3] == "PutObject(fridge_0, bread_0)"
    assert {name for (name,) in found.checklist.targets} == {
        "bread_0", "tomato_0", "lettuce_0", "fridge_0"
    }  # fmt: skip
    names = [p["function_name"] for p in found.evaluation["propositions"]]
    assert names == ["is_inside"] * 3 + ["is_closed"]
    assert found.source is not None
    assert (found.source.scene_id, found.source.fitted) == ("FloorPlan3", True)
    assert found.source.not_taken == ("task_timeout: 30",)
    assert {agent.kind for agent in found.agents} == {"robot"}


ROUND = [
    FRIDGE,
    task("1_couch", *bring("Laptop", "Sofa"), *bring("Book", "Sofa"), plans=("FloorPlan201",)),
    task("1_box", *bring("KeyChain", "Box"), *bring("Watch", "Box"), plans=("FloorPlan202",)),
    task("1_cut", "NavigateTo(Bread)", "SliceObject(Bread)", "SliceObject(Tomato)"),
    task("1_light", "NavigateTo(LightSwitch)", "ToggleObjectOff(LightSwitch)"),
    task("1_wash", "NavigateTo(Bowl)", "CleanObject(Bowl)", "CleanObject(Mug)"),
    task("2_knobs", "NavigateTo(StoveKnob)", "ToggleObjectOn(StoveKnob)"),
    task("2_drawers", "NavigateTo(Drawer)", "OpenObject(Drawer)", plans=("FloorPlan1",)),
    task("2_apples", *bring("Apple", "Fridge"), "OpenObject(Fridge)"),
    task("3_cutlery", *bring("Fork", "Drawer"), *bring("ButterKnife", "Drawer"),
         *bring("Knife", "Drawer"), "OpenObject(Drawer, Fork)", plans=("FloorPlan2",)),
]  # fmt: skip


@pytest.mark.parametrize("tasks", [ROUND[3:5], pytest.param(ROUND, marks=pytest.mark.slow)])
def test_each_kind_of_task_is_sound_and_the_expert_solves_it(tmp_path, capsys, tasks) -> None:
    path, out = tmp_path / "config.json", tmp_path / "out"
    path.write_text(json.dumps({"tasks": tasks}), encoding="utf-8")
    assert main(["episodes", "import", "llamar", str(path), "-o", str(out)]) == 0
    count = len(tasks)
    assert f"imported {count}, of which {count} can be judged" in capsys.readouterr().out
    linter = Linter()
    made = sorted(p for p in out.glob("*.json") if p.name != "import_report.json")
    assert len(made) == count
    for file in made:
        assert linter.lint(file).findings == ()
        assert solve_with_expert(file) == ""


def test_the_same_seed_gives_the_same_files(tmp_path: Path) -> None:
    one, other = (imported(tmp_path, *ROUND[:3]).episodes for _ in range(2))
    assert one == other


def test_what_all_means_is_several_and_each_is_an_entry(tmp_path: Path) -> None:
    found = single(tmp_path, task("2_apples", *bring("Apple", "Fridge"), "OpenObject(Fridge)"))
    apples = [o.name for o in found.objects if o.class_name == "apple"]
    assert 2 <= len(apples) <= 3
    assert found.checklist is not None
    puts = [text for text in found.checklist.subtasks if text.startswith("Put")]
    assert puts == [f"PutObject(fridge_0, {name})" for name in apples]
    assert "OpenObject(fridge_0)" in found.checklist.subtasks


def test_furniture_that_is_the_goal_is_an_entry_each(tmp_path: Path) -> None:
    drawers = task("2_drawers", "NavigateTo(Drawer)", "OpenObject(Drawer)")
    found = single(tmp_path, drawers)
    assert found.checklist is not None
    opened = [text for text in found.checklist.subtasks if text.startswith("Open")]
    assert 2 <= len(opened) == len(found.evaluation["propositions"])


def test_each_stove_knob_is_an_entry(tmp_path: Path) -> None:
    found = single(tmp_path, task("2_knobs", "NavigateTo(StoveKnob)", "ToggleObjectOn(StoveKnob)"))
    assert found.checklist is not None
    turned = [text for text in found.checklist.subtasks if text.startswith("Toggle")]
    assert 2 <= len(turned) == len(found.evaluation["propositions"])
    assert all("stove_knob" in text and "|" not in text for text in turned)


def test_an_entry_that_is_there_for_each_thing_counts_for_each(tmp_path: Path) -> None:
    def open_with(thing: str) -> tuple[str, ...]:
        walk, take, carry, put = bring(thing, "Drawer")
        return walk, take, carry, f"OpenObject(Drawer, {thing})", put

    items = [entry for thing in ("Fork", "Spoon", "Knife") for entry in open_with(thing)]
    found = single(tmp_path, task("3_cutlery", *items, plans=("FloorPlan2",)))
    assert found.checklist is not None
    assert len(found.checklist.subtasks) == len(items)
    opened = [text for text in found.checklist.subtasks if text.startswith("Open")]
    assert len(opened) == 3
    assert len(set(opened)) == 1


def test_spellings_of_the_checkers_are_one(tmp_path: Path) -> None:
    found = single(
        tmp_path,
        task("1_keys", "PickUpObject(Keychain)", "PutObject(Sofa_1, KeyChain)",
             "PickObject(Watch_2)", "PutObject(Sofa, Watch)", plans=("FloorPlan201_physics",)),
    )  # fmt: skip
    assert found.checklist is not None
    assert found.checklist.subtasks[0] == "PickupObject(keychain_0)"
    assert sum("keychain_0" in text for text in found.checklist.subtasks) == 2


CHECKER = """
raise SystemExit("nobody runs this")
class Checker(BaseChecker):
    def __init__(self):
        {assignment}
        super().__init__(subtasks)
"""


@pytest.mark.parametrize("target", ["subtasks", "self.subtasks"])
def test_a_checklist_may_come_from_the_checker_which_is_not_run(tmp_path, target) -> None:
    own = tmp_path / "1_wash"
    own.mkdir()
    text = CHECKER.format(assignment=f'{target} = ["NavigateTo(Bowl)", "CleanObject(Bowl)"]')
    (own / "checker.py").write_text(text, encoding="utf-8")
    found = imported(tmp_path, task("1_wash"), checkers=tmp_path)
    assert found.left_out == ()
    assert found.episodes[0].checklist is not None
    assert found.episodes[0].checklist.subtasks == ("NavigateTo(bowl_0)", "CleanObject(bowl_0)")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (None, "there is no such file"),
        ("x = (", "cannot be parsed"),
        ("subtasks = make()", "there is no list of this name"),
        ("subtasks = [open('/etc/passwd').read()]", "line 1: is not a text"),
    ],
)
def test_a_checker_without_a_list_leaves_the_task_out(tmp_path, text, reason) -> None:
    own = tmp_path / "1_wash"
    own.mkdir()
    if text is not None:
        (own / "checker.py").write_text(text, encoding="utf-8")
    found = imported(tmp_path, task("1_wash"), checkers=tmp_path)
    assert found.episodes == ()
    assert reason in found.left_out[0].reason


@pytest.mark.parametrize(
    ("spoiled", "reason"),
    [
        (task("1_x", "Juggle(Bread)"), "task_checklist.0: 'Juggle(Bread)' has the unknown act"),
        (task("1_x", "PutObject(Fridge)"), "needs what is put"),
        (task("1_x", "PickupObject(A|B)"), "has alternatives"),
        (task("1_x", "bread"), "is not of the form Act(Object)"),
        (task("1_x"), "there is no checklist"),
        (task("1_x", *bring("Unicorn", "Fridge")), "nothing like 'Unicorn'"),
        (task("1_x", "NavigateTo(Bread)"), "its checklist changes nothing"),
        (task("1_x", "SliceObject(Egg)"), "egg_0 is not sliceable"),
        (task("1_x", *bring("Fridge", "Sofa")), "'Fridge' is furniture here"),
        (task("1_x", *bring("Bread", "Fridge"), plans=("FloorPlan77",)), "no floor plan"),
        (task("x", "OpenObject(Fridge)"), "task_name"),
        (task("1_x", "OpenObject(Fridge)", task_floorplans=[]), "task_floorplans"),
        ({"task_name": "1_x"}, "task_description"),
        ("task", "expected"),
        (task("1_x", "OpenObject(Fridge)", task_description="x"), "instruction"),
    ],
)
def test_what_cannot_be_imported_is_left_out_with_its_reason(tmp_path, spoiled, reason) -> None:
    found = imported(tmp_path, spoiled, FRIDGE)
    assert [episode.source.episode_id for episode in found.episodes] == ["1_milk_bread_fridge"]
    assert sum(found.read.values()) == 2
    (fault,) = found.left_out
    assert fault.file == "config_type.json"
    assert fault.reason
    assert reason in fault.reason or "Input should be" in fault.reason


@pytest.mark.parametrize("text", ["[]", "{}", '{"tasks": 1}', "nonsense", ""])
def test_what_is_no_configuration_is_one_error_with_its_file(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FileError) as caught:
        import_public([path], 0)
    assert str(path) in str(caught.value)


def test_words_and_floor_plans_of_ai2thor() -> None:
    catalogue = default_catalogue()
    words = {"Mug": "cup", "CounterTop": "counter", "RemoteControl": "remote_control",
             "Sofa": "couch", "GarbageCan": "trash_can", "PepperShaker": "pepper_mill"}  # fmt: skip
    assert {word: thor_class(word, catalogue).name for word in words} == words
    plans = {"FloorPlan1": "kitchen", "FloorPlan230": "living_room", "FloorPlan301": "bedroom",
             "FloorPlan430_physics": "bathroom"}  # fmt: skip
    assert {plan: thor_room(plan) for plan in plans} == plans
    for plan in ("FloorPlan31", "FloorPlan0", "FloorPlan431", "Kitchen"):
        with pytest.raises(UnplaceableError, match="no floor plan"):
            thor_room(plan)
