"""Our own tasks of LLaMAR's types: the pack that ships, its source, and what is refused."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path

import pytest

from papers.llamar.tasks import TeamTask, read_tasks, task_file
from planner.cli import main
from planner.commands.episodes import solve_with_expert
from planner.episodes.episode_file import read_pack, unpacked
from planner.episodes.lint.linting import Linter
from planner.world.episode import Episode
from planner.world.errors import FileError
from planner.world.house import House
from planner.world.house_checks import load_house
from planner.world.share import config_dir

PACK = config_dir() / "suites" / "llamar.json.gz"


@pytest.fixture(scope="module")
def episodes() -> tuple[Episode, ...]:
    return read_pack(PACK).episodes


@pytest.fixture(scope="module")
def houses() -> dict[str, House]:
    return {house.name: house for house in read_pack(PACK).houses}


def task_of(episode: Episode) -> str:
    return episode.episode_id.partition("_type_")[2]


def test_there_are_at_least_45_of_four_types_each_in_single_rooms_and_whole_houses(
    episodes, houses
) -> None:
    assert len(episodes) >= 45
    found: defaultdict[str, list[str]] = defaultdict(list)
    for episode in episodes:
        found[task_of(episode)].append(episode.house)
    types = Counter(name[0] for name in found)
    assert types == {"1": 4, "2": 4, "3": 4, "4": 4}
    for name, places in found.items():
        assert len(set(places)) == len(places) >= 5, name
        sizes = {len((houses.get(h) or load_house(h)).rooms) == 1 for h in places}
        assert sizes == {True, False}, name


def test_the_first_48_have_every_task_in_three_places(episodes) -> None:
    first = Counter(task_of(episode) for episode in episodes[:48])
    assert set(first.values()) == {3}


def test_instructions_do_not_name_what_their_type_leaves_open(episodes) -> None:
    for episode in episodes:
        assert episode.checklist is not None
        words = episode.instruction.lower()
        things = {o.class_name for o in episode.objects if f"({o.name}" in str(episode.checklist)}
        named = [name for name in things if name.replace("_", " ") in words]
        if episode.checklist.ambiguity >= 3:
            assert not named, episode.episode_id
        assert str(episode.checklist.ambiguity) == task_of(episode)[0]


@pytest.mark.slow
def test_the_pack_is_what_its_source_makes(tmp_path: Path, capsys) -> None:
    again = tmp_path / "again.json.gz"
    assert main(["episodes", "generate", "llamar", "-o", str(again)]) == 0
    assert "wrote 94 episodes to" in capsys.readouterr().out
    assert again.read_bytes() == PACK.read_bytes(), (
        "run: planner episodes generate llamar -o config/suites/llamar.json.gz"
    )
    assert PACK.stat().st_size < 200_000


@pytest.mark.slow
def test_all_are_sound_and_the_expert_solves_them(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    linter = Linter()
    for path in sorted(unpacked(PACK).glob("*.json")):
        assert linter.lint(path).findings == ()
        assert solve_with_expert(path) == ""


def test_states_are_changed_by_teams_that_can(episodes) -> None:
    for episode in episodes:
        changes = any(
            text.startswith(("Clean", "Slice", "Toggle")) for text in episode.checklist.subtasks
        )
        assert {a.kind for a in episode.agents} == {"human" if changes else "robot"}


TASK = """
version: 1
rooms: [{name: my_kitchen_0, room: kitchen, seed: 3}]
tasks:
  - name: milk
    ambiguity: 1
    houses: [my_kitchen_0, train_0]
    instruction: Put the milk into the fridge.
    things: {milk: {class_name: milk_carton, on_top: counter}}
    places: {fridge: {furniture: fridge}}
    goal: [{predicate: is_inside, things: [milk], at: [fridge]}]
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "tasks.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_of_ones_own(tmp_path: Path, capsys) -> None:
    path = written(tmp_path, TASK)
    args = ["episodes", "generate", "llamar", "--tasks", str(path), "-o", str(tmp_path / "out")]
    assert main(args) == 0
    assert "wrote 2 episodes to" in capsys.readouterr().out
    names = sorted(path.name for path in (tmp_path / "out").rglob("*.json"))
    assert names == [
        "my_kitchen_0.json", "place_0_type_1_milk.json", "place_1_type_1_milk.json"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "field", "reason"),
    [
        ("ambiguity: 1", "ambiguity: 7", "tasks.0.ambiguity", "1, 2, 3 or 4"),
        ("houses: [my_kitchen_0, train_0]", "houses: [train_0]", "tasks.0.houses", "at least 2"),
        ("things: [milk]", "things: [beer]", "tasks.0", "'beer' is neither among things"),
        ("seed: 3", "seed: -1", "rooms.0.seed", "greater than or equal to 0"),
        ("    houses", "    colour: red\n    houses", "tasks.0.colour", "not permitted"),
    ],
)
def test_a_bad_file_names_file_field_and_reason(tmp_path, old, new, field, reason) -> None:
    path = written(tmp_path, TASK.replace(old, new))
    with pytest.raises(FileError) as caught:
        read_tasks(path)
    assert str(path) in str(caught.value)
    assert field in str(caught.value)
    assert reason in str(caught.value)


def test_the_shipped_file_has_no_task_twice() -> None:
    tasks = read_tasks(task_file()).tasks
    assert len({task.name for task in tasks}) == len(tasks) == 16
    assert all(isinstance(task, TeamTask) for task in tasks)
