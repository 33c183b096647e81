"""Generated episodes: sound, of their type, the same each time; rejections are counted."""

import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from papers.partnr.generation.clauses import Sentences
from papers.partnr.generation.generating import Made, Order, generate, misreading
from papers.partnr.generation.proposals import propose
from papers.partnr.generation.things import NoProposalError, TaskType
from planner.cli import main
from planner.episodes.episode_file import unpacked
from planner.episodes.lint.linting import Linter
from planner.episodes.recipes.build import RecipeError, build
from planner.episodes.recipes.file import Recipe
from planner.episodes.spots import holds_inside, is_countable, names_of
from planner.planning.learned.tokens import read_tokens
from planner.world.episode import Episode
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


def _shared(kind: TaskType) -> list[tuple[Recipe, Episode]]:
    """Proposed tasks of which the speaker does a part, and their episodes."""
    house, found = load_house(HOUSE), []
    for seed in range(60):
        try:
            recipe = propose(house, kind, f"task_{seed}", seed)
            if re.search(r"\b(?:while I|I'll|I will)\b", recipe.instruction):
                found.append((recipe, build(recipe, house).episode))
        except (NoProposalError, RecipeError):
            continue
    return found


def test_what_the_speaker_does_is_no_goal_for_judge_or_reader() -> None:
    house = load_house(HOUSE)
    found = _shared(TaskType.SPATIAL)
    assert found
    for recipe, episode in found:
        asked = {label for spec in recipe.goal for label in (*spec.things, *spec.at)}
        speakers = set(recipe.things) - asked
        assert speakers, "their things are there, too"
        assert "spatial" in episode.task_types
        assert misreading(episode, house) in ("", "ambiguous in the house"), episode.instruction
        for token in read_tokens(episode.instruction):
            assert not any(token.means(recipe.things[label].class_name) for label in speakers)


def test_a_state_is_never_left_to_the_speaker() -> None:
    assert _shared(TaskType.HETEROGENEOUS) == []


def test_names_fit_their_number_and_their_preposition() -> None:
    assert "baseballbat" not in names_of("baseballbat", [])
    assert "baseball bat" in names_of("baseballbat", [])
    assert not is_countable("mail")
    assert is_countable("letter")
    assert not holds_inside("countertop")
    house = load_house(HOUSE)
    texts = []
    for kind in TaskType:
        for seed in range(40):
            try:
                texts.append(propose(house, kind, "task", seed).instruction)
            except NoProposalError:
                continue
    assert len(texts) > 100
    wrong = (
        r"\b(?:a|an|one|two|three|both|all) (?:mail|milk|bread|toilet paper)s?\b(?! )"
        r"|\bin(?:to|side)? (?:a|the|any|one of the) (?:worktop|countertop)"
    )
    assert [text for text in texts if re.search(wrong, text)] == []
    for one, other in (("lounge", "sitting room"), ("family room", "living room")):
        assert not any(f"the {one}" in text and f"the {other}" in text for text in texts)


def test_a_lead_in_fits_the_task() -> None:
    sentences = Sentences(np.random.default_rng(1))
    told = {sentences.context(1.0, {"toys"}).strip() for _ in range(300)}
    assert "The kids are coming home soon." in told
    assert "I could use a hand." in told
    assert "Dinner is almost ready." not in told


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
    monkeypatch.setattr("papers.partnr.generation.generating.MAX_ATTEMPTS", 4)
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
