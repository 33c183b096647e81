"""Tasks of a chat model: the grammar judges them first, then the model; bad replies are counted."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from papers.partnr.generation.generating import Made, Order, generate
from papers.partnr.generation.model_candidates import ModelCandidates, similar
from papers.partnr.generation.things import TaskType
from planner.cli import main
from planner.episodes.recipes.build import shipped_episodes
from planner.evaluation.language import read_evaluation
from planner.models.chat import Message
from planner.models.teacher import ScriptedModel
from planner.world.episode import Episode, read_episode
from planner.world.house_checks import load_house

HOUSE = "heldout_0"
CUP = {"object_classes": ["cup"], "furniture_names": ["counter_0"]}
PLATE = {"object_classes": ["plate"], "furniture_names": ["counter_0"]}
READABLE = "Put the cup and the plate on the table in the kitchen, next to each other."
UNREADABLE = "Frobnicate: cup, then plate, both end up on some kitchen table, the same one."


def _tasks(instruction: str, *records: Mapping[str, object]) -> str:
    task = {"instruction": instruction, "initial_state": list(records)}
    return f"Let me think [1].\nJSON_OUTPUT: {json.dumps([task])}\nDone."


def _made(*replies: str, kind: TaskType = TaskType.TEMPORAL) -> tuple[Made, ScriptedModel]:
    model = ScriptedModel(replies)
    candidates = ModelCandidates(model, [_example()])
    try:
        order = Order([load_house(HOUSE)], [kind], 1, seed=1, candidates=candidates)
        return next(generate(order)), model
    finally:
        candidates.close()


def _example() -> Episode:
    return next(read_episode(path) for path in shipped_episodes() if path.stem == "bed_first_0")


CALLS = (
    '[FN]\nis_on_top("cup", "table in kitchen")\nis_on_top("plate_0", "table in kitchen")\n[/FN]'
)
ORDER = "proposition_order = [[0], [1]]"
TIES = "tie_constraints = [SameArgConstraint([0, 1], [1, 1])]"


def test_the_grammar_judges_what_it_can_read() -> None:
    made, model = _made(_tasks(READABLE, CUP, PLATE), kind=TaskType.SPATIAL)
    assert made.episode is not None
    assert made.episode.task_types == ("spatial",)
    assert len(model.requests) == 1
    assert 2 <= len(made.episode.objects) - 2 <= 8


def test_the_model_judges_the_rest_in_three_calls() -> None:
    made, model = _made(_tasks(UNREADABLE, CUP, PLATE), CALLS, ORDER, TIES)
    assert made.episode is not None
    assert made.episode.evaluation is not None
    read = read_evaluation(made.episode.evaluation, "")
    assert [item.lists[0] for item in read.propositions] == [("cup_0",), ("plate_0",)]
    assert read.edges == ((0, 1),)
    assert len(read.ties) == 1
    assert made.episode.task_types == ("temporal",)
    asked = [request.messages for request in model.requests]
    assert "counter_0 in kitchen_0" in asked[1][-1].text
    # The most similar annotated episode is shown with its answer.
    assert any('is_on_top(["pillow_0"], ["bed_0"])' in message.text for message in asked[1])
    assert "0: is_on_top" in asked[2][-1].text


@pytest.mark.parametrize(
    ("replies", "reason"),
    [
        (["no list"], "reply of the model: another form"),
        ([_tasks(READABLE, {**CUP, "furniture_names": ["throne_0"]})], "names what the house"),
        ([_tasks(UNREADABLE, CUP), "[FN]\nis_on_top(open('x'))\n[/FN]"], "not an evaluation"),
        ([_tasks(UNREADABLE, CUP), '[FN]\nis_clean("whale")\n[/FN]'], "not an evaluation"),
    ],
)
def test_bad_replies_are_rejected_and_counted(
    replies: list[str], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("papers.partnr.generation.generating.MAX_ATTEMPTS", 1)
    made, _ = _made(*replies, ORDER, TIES)
    assert made.episode is None
    assert [key for key in made.rejected if reason in key]


def test_the_most_similar_example_is_found() -> None:
    episodes = [read_episode(path) for path in shipped_episodes()]
    found = similar("Take the lamp off the sofa. Then lay the cap on the sofa.", episodes)
    assert found is not None
    assert found.episode_id == "bed_first_0"


def test_the_command_takes_a_model(tmp_path: Path) -> None:
    script = tmp_path / "replies.txt"
    script.write_text(_tasks(READABLE, CUP, PLATE))
    command = ["episodes", "generate", "partnr", "--house", HOUSE, "--count", "1"]
    command += ["--type", "spatial", "--model", f"scripted:{script}", "-o", str(tmp_path / "out")]
    assert main(command) == 0
    (path,) = (tmp_path / "out").glob("*.json")
    assert read_episode(path).instruction == READABLE


def test_prompts_say_what_the_type_needs() -> None:
    _, model = _made(_tasks(READABLE, CUP, PLATE), kind=TaskType.SPATIAL)
    system: Message = model.requests[0].messages[0]
    assert "next to, beside" in system.text
