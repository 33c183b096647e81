"""Our own tasks of TEACh's types: the pack that ships, its source, and what is refused."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from pydantic import ValidationError

from papers.helper.teach.tasks import DialogueTask, read_tasks, task_file
from planner.app.bodily_task_world import middle_of
from planner.bench.runs.manifest import find_suite
from planner.cli import main
from planner.commands.episodes import solve_with_expert
from planner.episodes.episode_file import read_pack, unpacked
from planner.episodes.lint.linting import Linter
from planner.episodes.start_state import starting_from
from planner.world.catalogue import default_catalogue
from planner.world.episode import Dialogue, Episode, Setting, Speaker, TeachTask, Turn
from planner.world.errors import FileError, PlannerError
from planner.world.house_checks import load_house
from planner.world.share import config_dir

PACK = config_dir() / "suites" / "teach.json.gz"


@pytest.fixture(scope="module")
def episodes() -> dict[str, Episode]:
    return {episode.episode_id: episode for episode in read_pack(PACK).episodes}


def of_setting(episodes: dict[str, Episode], setting: Setting) -> list[Episode]:
    return [
        e for e in episodes.values() if e.dialogue is not None and e.dialogue.setting is setting
    ]


def test_there_are_60_from_dialogue_and_24_from_history_of_all_twelve_types(episodes) -> None:
    for setting, number in ((Setting.TFD, 5), (Setting.EDH, 2)):
        found = of_setting(episodes, setting)
        assert Counter(e.dialogue.task_type for e in found) == dict.fromkeys(TeachTask, number)
        assert {e.split for e in found} == {"train", "val"}


def test_the_instruction_is_the_dialogue(episodes) -> None:
    for episode in episodes.values():
        assert episode.dialogue is not None
        assert episode.instruction == episode.dialogue.text
        assert {turn.speaker for turn in episode.dialogue.turns} == set(Speaker)
        assert len(episode.instruction) < 5000


def test_a_history_has_the_state_that_its_actions_left(episodes) -> None:
    for episode in of_setting(episodes, Setting.EDH):
        assert episode.dialogue is not None
        assert episode.dialogue.actions
        beginning = episodes[episode.episode_id.replace("edh_", "tfd_", 1)]
        assert episode.evaluation == beginning.evaluation
        assert (episode.objects, episode.furniture) != (beginning.objects, beginning.furniture)
        assert episode.agents[0].start is not None
    sliced = episodes["edh_n_slices_tomato_on_plate_heldout_0"]
    names = {item.name for item in sliced.objects}
    assert "tomato_slice_0" in names
    assert "tomato_0" not in names
    assert sliced.instruction.split(" <Driver> Done so far: ")[1].startswith("Explore")


def test_a_text_has_what_was_done_where_it_was_done() -> None:
    turns = (
        Turn(speaker=Speaker.COMMANDER, text="Coffee, please."),
        Turn(speaker=Speaker.DRIVER, text="With milk?"),
    )
    history = Dialogue(setting=Setting.EDH, turns=turns, session=1, actions=("Pick[cup_0]",))
    assert history.text == (
        "<Commander> Coffee, please. <Driver> Done so far: Pick[cup_0]. <Driver> With milk?"
    )
    assert Dialogue(turns=turns).text == "<Commander> Coffee, please. <Driver> With milk?"


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"setting": "edh"}, "actions belong to a dialogue history"),
        ({"actions": ("Pick[cup_0]",)}, "actions belong to a dialogue history"),
        ({"session": 2}, "session is 2, but there are 1 turns"),
    ],
)
def test_a_dialogue_that_contradicts_itself_is_refused(fields, reason) -> None:
    with pytest.raises(ValidationError, match=reason):
        Dialogue.model_validate({"turns": [{"speaker": "Driver", "text": "Hi."}], **fields})


def test_a_sample_of_the_pack_is_what_its_source_makes(episodes) -> None:
    for task in read_tasks(task_file()).tasks[::6]:
        made = task.episode(task.houses[0])
        assert made == episodes[made.episode_id]


@pytest.mark.slow
def test_the_whole_pack_is_what_its_source_makes(tmp_path: Path, capsys) -> None:
    again = tmp_path / "again.json.gz"
    assert main(["episodes", "generate", "teach", "-o", str(again)]) == 0
    assert "wrote 84 episodes to" in capsys.readouterr().out
    assert again.read_bytes() == PACK.read_bytes(), (
        "run: planner episodes generate teach -o config/suites/teach.json.gz"
    )


def test_the_suite_has_them_all() -> None:
    assert len(find_suite("teach")) == 84


def without_history(path: Path) -> list[str]:
    """The findings of lint; a goal that is partly met is what a history is about."""
    expected = "true-at-start" if path.name.startswith("edh_") else ""
    return [str(f) for f in Linter().lint(path).findings if str(f.rule) != expected]


@pytest.mark.slow
@pytest.mark.parametrize("every", [9, pytest.param(1, marks=pytest.mark.nightly)])
def test_they_are_sound_and_the_expert_solves_them(every: int, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for path in sorted(unpacked(PACK).glob("*.json"))[::every]:
        assert without_history(path) == []
        assert solve_with_expert(path) == ""


TASK = """
version: 1
tasks:
  - name: one_fork
    task_type: clean_all
    houses: [train_0]
    edh: [train_0]
    session: 1
    dialogue:
      - Commander: Wash the two forks.
    things: {forks: {class_name: fork, count: 2, on_top: counter, states: {clean: false}}}
    goal: [{predicate: is_clean, things: [forks]}]
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "tasks.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_tasks_of_ones_own_become_episodes(tmp_path: Path) -> None:
    source = written(tmp_path, TASK)
    folder = tmp_path / "out"
    assert main(["episodes", "generate", "teach", "--tasks", str(source), "-o", str(folder)]) == 0
    assert [path.name for path in sorted(folder.glob("*.json"))] == [
        "edh_clean_all_one_fork_train_0.json",
        "tfd_clean_all_one_fork_train_0.json",
    ]


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("clean_all", "dance", "task_type"),
        ("edh: [train_0]", "edh: [train_1]", "train_1 is not among houses"),
        ("session: 1", "session: 9", "there are only 1 turns"),
        ("- Commander: Wash", "- Nobody: Wash", "dialogue"),
        ("name: one_fork", "name: One Fork", "name"),
    ],
)
def test_a_bad_task_is_one_error_with_its_field(tmp_path, old, new, reason) -> None:
    with pytest.raises(FileError, match=reason):
        read_tasks(written(tmp_path, TASK.replace(old, new)))


def made_task() -> DialogueTask:
    return read_tasks(task_file()).tasks[0]


def test_what_is_held_has_no_place_at_a_start() -> None:
    task = made_task()
    episode, house = task.episode("train_0"), load_house("train_0")
    moment = middle_of(episode, house)
    entities = dict(moment.state.entities)
    can = entities["watering_can_0"]
    entities[can.name] = _changed(can, parent="agent_0", relation=None)
    with pytest.raises(PlannerError, match="watering_can_0 is held"):
        starting_from(
            episode, house, _changed(moment.state, entities=entities), default_catalogue()
        )


def _changed(record: object, **fields: object) -> object:
    from dataclasses import replace

    return replace(record, **fields)  # type: ignore[type-var]
