"""Generated episodes: sound, of their type, the same each time; rejections are counted."""

from collections import Counter
from pathlib import Path

import pytest

from planner.cli import main
from planner.episodes.generation.arguments import TaskType
from planner.episodes.generation.generating import Made, Order, generate
from planner.episodes.generation.reading_check import misreading
from planner.episodes.lint.linting import Linter
from planner.episodes.pack import unpacked
from planner.world.house_checks import load_house

HOUSE = "heldout_0"
COUNT = 8


def _refuse(path: Path) -> str:
    return "no" if path.stem.endswith("_0") else ""


@pytest.fixture(scope="module")
def made() -> list[Made]:
    return list(generate(Order([load_house(HOUSE)], list(TaskType), COUNT, seed=3)))


@pytest.mark.slow
def test_types_take_turns(made: list[Made]) -> None:
    found = [item.episode for item in made]
    kinds = Counter(episode.episode_id.split("_")[0] for episode in found if episode)
    assert kinds == {kind.value: 2 for kind in TaskType}
    for episode in found:
        assert episode is not None
        kind = episode.episode_id.split("_")[0]
        expected = "constraint_free" if kind == TaskType.REARRANGE else kind
        assert expected in episode.task_types


@pytest.mark.slow
def test_instructions_mean_what_is_judged(made: list[Made]) -> None:
    house = load_house(HOUSE)
    for item in made:
        assert item.episode is not None
        assert misreading(item.episode, house) == "", item.episode.instruction


def test_another_goal_is_noticed(made: list[Made]) -> None:
    house = load_house(HOUSE)
    one, other = made[0].episode, made[1].episode
    assert one is not None
    assert other is not None
    wrong = one.model_copy(update={"evaluation": other.evaluation})
    assert misreading(wrong, house) == "understood otherwise"
    vague = one.model_copy(update={"instruction": "Put the zorf on the table."})
    assert misreading(vague, house) == "not understood"


@pytest.mark.slow
def test_equal_orders_give_equal_episodes(made: list[Made]) -> None:
    again = generate(Order([load_house(HOUSE)], list(TaskType), 4, seed=3))
    assert [item.episode for item in again] == [item.episode for item in made[:4]]
    other = generate(Order([load_house(HOUSE)], list(TaskType), 1, seed=4))
    assert [item.episode for item in other] != [item.episode for item in made[:1]]


@pytest.mark.slow
def test_what_the_planner_does_not_solve_is_rejected_and_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("planner.episodes.generation.generating.MAX_ATTEMPTS", 4)
    order = Order([load_house(HOUSE)], [TaskType.REARRANGE], 2, seed=3, solve=_refuse)
    first, second = generate(order)
    assert first.episode is None
    assert first.rejected["not solved by the expert"] > 0
    assert second.episode is not None


@pytest.mark.slow
def test_the_command_writes_a_pack_with_new_houses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    pack = tmp_path / "own.json.gz"
    command = ["episodes", "generate", "partnr", "--house", "new:1", "--type", "temporal"]
    command += ["--count", "2", "--seed", "5", "--split", "test", "-o", str(pack)]
    assert main(command) == 0
    assert "wrote 2 episodes" in capsys.readouterr().out
    files = sorted(unpacked(pack).glob("*.json"))
    assert [path.stem for path in files] == ["temporal_5_0", "temporal_5_1"]
    assert [Linter().lint(path).findings for path in files] == [(), ()]
    assert main(["episodes", "list", str(pack)]) == 0
    assert "home_5_0" in capsys.readouterr().out
    assert main(["episodes", "lint", str(pack)]) == 0


@pytest.mark.parametrize(
    ("extra", "reason"),
    [
        (["--house", "new:0"], "expected new:N"),
        (["--house", "nowhere_1"], "no house 'nowhere_1'"),
        (["--house", HOUSE, "--count", "0"], "--count"),
    ],
)
def test_bad_arguments_are_one_line(
    extra: list[str], reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["episodes", "generate", "partnr", "-o", str(tmp_path / "out"), *extra]
    assert main(command) != 0
    assert reason in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
