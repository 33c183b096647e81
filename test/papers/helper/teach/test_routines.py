"""Personal routines: the pack that ships, what is asked for, and what is refused (HELPER-D84)."""

from __future__ import annotations

from pathlib import Path

import pytest

from papers.helper.teach.tasks import Wanted, read_routines, routine_file
from planner.bench.runs.manifest import find_suite
from planner.cli import main
from planner.commands.episodes import solve_with_expert
from planner.episodes.episode_file import read_pack, unpacked
from planner.episodes.lint.linting import Linter
from planner.world.errors import FileError
from planner.world.share import config_dir

PACK = config_dir() / "suites" / "routines.json.gz"
ROUTINES = read_routines(routine_file())


def test_ten_are_taught_and_asked_for_with_no_to_three_changes() -> None:
    names = {episode.episode_id for episode in read_pack(PACK).episodes}
    assert len(ROUTINES) == 10
    suffixes = ("taught", *(f"changes_{n}" for n in range(4)))
    assert names == {f"{r.name}_{suffix}" for r in ROUTINES for suffix in suffixes}
    assert len(find_suite("routines")) == 50


def test_a_request_names_the_routine_and_its_changes_only() -> None:
    for routine in ROUTINES:
        name = routine.spoken_name.partition(" ")[0]
        assert name in routine.lesson.text
        for changes in range(4):
            assert name in routine.request(changes).text
            assert len(routine.request(changes).turns) == 1
        assert routine.lesson.text not in routine.request(3).text
        assert len({routine.wanted(changes) for changes in range(4)}) == 4


def test_changes_keep_those_before_and_may_take_away() -> None:
    dax = next(r for r in ROUTINES if r.name == "dax_salad")
    plate, tomato = Wanted("Plate", 1, ("clean",)), Wanted("TomatoSliced", 1, (), "Plate")
    cooked, lettuce = (
        Wanted("PotatoSliced", 2, ("cooked",), "Plate"),
        Wanted("LettuceSliced", 1, (), "Plate"),
    )
    assert set(dax.wanted(0)) == {plate, tomato, cooked, lettuce}
    assert set(dax.wanted(1)) == {plate, tomato, cooked}
    assert set(dax.wanted(2)) == {plate, tomato}
    assert set(dax.wanted(3)) == {plate, Wanted("TomatoSliced", 2, (), "Plate")}


def test_a_sample_of_the_pack_is_what_its_source_makes() -> None:
    shipped = {episode.episode_id: episode for episode in read_pack(PACK).episodes}
    for episode in ROUTINES[-1].episodes():
        assert shipped[episode.episode_id] == episode


@pytest.mark.slow
def test_the_whole_pack_is_what_its_source_makes(tmp_path: Path, capsys) -> None:
    again = tmp_path / "again.json.gz"
    assert main(["episodes", "generate", "routines", "-o", str(again)]) == 0
    assert "wrote 50 episodes to" in capsys.readouterr().out
    assert again.read_bytes() == PACK.read_bytes(), (
        "run: planner episodes generate routines -o config/suites/routines.json.gz"
    )


@pytest.mark.slow
@pytest.mark.parametrize("every", [9, pytest.param(1, marks=pytest.mark.nightly)])
def test_they_are_sound_and_the_expert_solves_them(every: int, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for path in sorted(unpacked(PACK).glob("*.json"))[::every]:
        assert Linter().lint(path).findings == ()
        assert solve_with_expert(path) == ""


ROUTINE = """
version: 1
routines:
  - name: my_cleaning
    house: train_0
    taught: [{Commander: My cleaning is one clean fork.}]
    asked: Do my cleaning.
    things: {fork: {class_name: fork, on_top: counter, states: {clean: false}}}
    items: {fork: {what: fork, class: Fork, states: [clean]}}
    base: {fork: 1}
    changes: []
"""


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("base: {fork: 1}", "base: {spoon: 1}", "'spoon' is not among items"),
        ("base: {fork: 1}", "base: {fork: -1}", "base"),
        ("states: [clean]}", "states: [shiny]}", "states"),
        ("class: Fork, states: [clean]}", "class: Fork}", "neither states nor a place"),
        ("class: Fork,", "class: Fork, place: Sink,", "at and place belong together"),
    ],
)
def test_a_bad_routine_is_one_error_with_its_field(tmp_path, old, new, reason) -> None:
    path = tmp_path / "routines.yaml"
    assert ROUTINE.replace(old, new) != ROUTINE
    path.write_text(ROUTINE.replace(old, new), encoding="utf-8")
    with pytest.raises(FileError, match=reason):
        read_routines(path)


def test_routines_of_ones_own_become_episodes(tmp_path: Path) -> None:
    path = tmp_path / "routines.yaml"
    path.write_text(ROUTINE, encoding="utf-8")
    out = tmp_path / "out"
    assert main(["episodes", "generate", "routines", "--tasks", str(path), "-o", str(out)]) == 0
    assert [p.stem for p in sorted(out.glob("*.json"))] == [
        "my_cleaning_changes_0",
        "my_cleaning_taught",
    ]
