"""`planner episodes generate et-plan`: files, counts, and going on after an interruption."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from papers.et_plan_bench.generation import cli, house_tasks
from papers.et_plan_bench.generation.categories import home_named
from papers.et_plan_bench.generation.house_tasks import NO_IDEAS, NO_RELATION, NO_ROOM
from papers.et_plan_bench.generation.idea import PROSE
from papers.et_plan_bench.published.file import read_et_file
from planner.cli import main
from planner.episodes.episode_file import read_pack
from planner.world.house import house_json
from planner.world.house_checks import load_episode

from .toy_graph import toy_document

COMMAND = ["episodes", "generate", "et-plan", "--house", "et_test_1", "--seed", "4"]


def generated(output: Path, *more: str) -> int:
    return main([*COMMAND, *more, "-o", str(output)])


@pytest.mark.slow
def test_equal_seeds_give_equal_files_with_unique_ids(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """ETPLAN-C7; the records are read by the importer of such files."""
    first, again, other = (tmp_path / f"{name}.json.gz" for name in ("first", "again", "other"))
    assert generated(first, "--count", "18") == 0
    assert "taken" in capsys.readouterr().out
    assert generated(again, "--count", "18") == 0
    assert generated(other, "--count", "18", "--seed", "5") == 0
    assert first.read_bytes() == again.read_bytes() != other.read_bytes()
    pack = read_pack(first)
    ids = [episode.episode_id for episode in pack.episodes]
    assert len(set(ids)) == len(ids) == 18
    assert [house.name for house in pack.houses] == ["et_test_1"]
    assert {episode.split for episode in pack.episodes} == {"test"}
    records = read_et_file(tmp_path / "first.records.jsonl")
    assert not records.faults
    assert [task.task_id for task in records.tasks] == ids
    for task, episode in zip(records.tasks, pack.episodes, strict=True):
        assert episode.criteria is not None
        assert task.success == episode.criteria.success
        assert len(task.plan) == len(episode.criteria.reference_plan)
        assert not task.unknown_fields
        assert task.text == episode.instruction


@pytest.mark.slow
def test_a_stopped_command_goes_on_and_gives_the_same_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, parts = tmp_path / "whole.json.gz", tmp_path / "parts.json.gz"
    assert generated(whole, "--count", "12") == 0
    generate = house_tasks.generate

    def stopped(*arguments: object) -> object:
        for number, made in enumerate(generate(*arguments)):  # type: ignore[arg-type]
            if number == 4:
                raise KeyboardInterrupt
            yield made

    with monkeypatch.context() as patched:
        patched.setattr(cli, "generate", stopped)
        assert generated(parts, "--count", "12") == 130
    assert not parts.exists()
    partial = tmp_path / "parts.json.gz.partial.jsonl"
    assert len(partial.read_text().splitlines()) == 5
    assert generated(parts, "--count", "12") == 0
    assert parts.read_bytes() == whole.read_bytes()
    assert not partial.exists()


def test_a_partial_file_of_other_arguments_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_arguments: object) -> object:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(cli, "generate", stopped)
        assert generated(tmp_path / "some", "--count", "12") == 130
    assert generated(tmp_path / "some", "--count", "13") == 2
    assert "count: 12 there, 13 in this command" in capsys.readouterr().err


def test_occlusion_keeps_a_fifth_of_what_was_made(tmp_path: Path) -> None:
    folder = tmp_path / "far"
    arguments = ("--category", "navigation", "--variant", "occlusion_distance", "--count", "20")
    assert generated(folder, *arguments) == 0
    paths = sorted(folder.glob("*.json"))
    assert len(paths) == 4
    episode, house = load_episode(paths[0])
    assert house.name == "et_test_1"
    assert episode.criteria is not None
    assert "occlusion_distance" in episode.criteria.variants
    assert episode.criteria.max_actions == 20


def test_variants_set_what_is_known_and_how_much_is_carried(tmp_path: Path) -> None:
    arguments = ("--category", "two_objects", "--variant", "optimal_path", "--count", "2")
    limit = ("--variant", "layout_map", "--max-actions", "70", "--variant", "action_dependency")
    assert generated(tmp_path / "two", *arguments, *limit) == 0
    for path in (tmp_path / "two").glob("*.json"):
        criteria = load_episode(path)[0].criteria
        assert criteria is not None
        assert (criteria.prior, criteria.arms, criteria.max_actions) == ("FP", 2, 70)
        assert {"optimal_path", "layout_map", "action_dependency"} <= set(criteria.variants)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--variant", "optimal_path"), "for --category two_objects only"),
        (("--variant", "layout_map", "--prior", "G"), "with a layout map it is FP"),
        (("--count", "0"), "expected --count from 1"),
        (("--room", "dungeon"), "--room dungeon: expected one of bathroom"),
        (("--house", "et_tset_3"), "there is no house"),
        (("--max-actions", "0"), "expected 1 to 1000"),
    ],
)
def test_bad_arguments_are_one_error(
    arguments: tuple[str, ...],
    said: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert generated(tmp_path / "none", *arguments) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "none").exists()


def test_a_graph_gives_what_it_can_and_says_the_rest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gizmo = {
        "id": 21,
        "class_name": "gizmo",
        "category": "",
        "properties": ["GRABBABLE"],
        "on": 4,
        "bounding_box": {"center": [2, 1, -2], "size": [0.1, 0.1, 0.1]},
    }
    graph = tmp_path / "toy.json"
    graph.write_text(json.dumps(toy_document(gizmo)))
    command = ["episodes", "generate", "et-plan", "--house", str(graph), "--count", "60"]
    assert main([*command, "-o", str(tmp_path / "out")]) == 1
    out, err = capsys.readouterr()
    assert "nothing in the house fits the template" in out
    assert "classes are not in the catalogue and only looked for" in out
    assert "gizmo" in out
    assert "could not be made" in err
    assert list((tmp_path / "out").glob("*.json"))


@pytest.mark.slow
def test_a_relation_that_a_house_does_not_offer_is_told_and_the_rest_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A scene graph does not have the fronts of furniture, so that nothing faces anything."""
    graph = tmp_path / "toy.json"
    graph.write_text(json.dumps(toy_document()))
    houses = ("--house", str(graph), "--house", "et_test_4")
    rows = ("--category", "navigation_relation", "--relation", "FACING")
    assert generated(tmp_path / "out", *houses, *rows, "--count", "2") == 0
    out = capsys.readouterr().out
    assert f"navigation_relation: {NO_RELATION}: toy\n" in out
    assert len(list((tmp_path / "out").glob("*-navigation_relation-*.json"))) == 2


@pytest.mark.slow
def test_a_house_without_the_room_is_told_once_and_the_rest_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ("--house", "et_test_4", "--room", "office", "--category", "navigation")
    assert generated(tmp_path / "out", *asked, "--count", "2") == 0
    out = capsys.readouterr().out
    assert f"navigation: {NO_ROOM}: et_test_1\n" in out
    paths = list((tmp_path / "out").glob("*.json"))
    assert {load_episode(path)[1].name for path in paths} == {"et_test_4"}
    assert generated(tmp_path / "none", "--room", "garage", "--count", "2") == 1
    out, err = capsys.readouterr()
    assert f"navigation: {NO_ROOM}: et_test_1\n" in out
    assert "2 could not be made" in err


def test_a_house_without_things_is_told_and_the_rest_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bare = home_named("et_test_1").make().model_copy(update={"objects": (), "name": "bare"})
    file = tmp_path / "bare.json"
    file.write_text(house_json(bare))
    asked = ("--house", str(file), "--category", "manipulation", "--category", "navigation")
    assert generated(tmp_path / "out", *asked, "--count", "4") == 0
    assert f"manipulation: {NO_IDEAS}: bare\n" in capsys.readouterr().out
    houses = [load_episode(path)[1].name for path in (tmp_path / "out").glob("*.json")]
    assert sorted(houses) == ["bare", "et_test_1", "et_test_1", "et_test_1"]


def test_a_model_that_answers_with_prose_is_counted_and_the_rest_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prose, ours = ["That is a nice idea.", "I would say Reasonable."], ["Reasonable", "Hm.", "Hm."]
    replies = tmp_path / "replies.txt"
    replies.write_text("\n\n".join([*prose, *ours * 9]))
    asked = ("--category", "navigation", "--count", "2", "--model", f"scripted:{replies}")
    assert generated(tmp_path / "out", *asked) == 0
    counted = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [*PROSE.split(), "1"] in [words[: len(PROSE.split()) + 1] for words in counted]
    assert any(words[1:5] == ["texts", "in", "this", "run:"] for words in counted)
    assert len(list((tmp_path / "out").glob("*.json"))) == 2
