"""What answers the agent's questions: a table, chance, a model, and which of them."""

from __future__ import annotations

import asyncio
import runpy
from pathlib import Path

import pytest
from et_toys import Toy, play

from papers.et_plan_bench.agent import ranker_of
from papers.et_plan_bench.model_ranker import ModelRanker
from papers.et_plan_bench.parts import RankerName, TaskClass
from papers.et_plan_bench.rankers import (
    OPEN_WEIGHT,
    Frequencies,
    RandomRanker,
    TableRanker,
    counted,
    read_frequencies,
    shipped_frequencies_file,
    shipped_weights,
)
from planner.models.caller import ModelCall
from planner.models.chat import Fault, ModelRequest, Role
from planner.models.models import MODELS
from planner.models.teacher import ScriptedModel
from planner.parts.option import read_options
from planner.planning.part import PLANNERS, PlannerRequest
from planner.planning.planner import Task
from planner.world.errors import FileError, PlannerError

ROOT = Path(__file__).parents[3]
ROOMS = ("bathroom_0", "kitchen_0", "bedroom_0", "bedroom_1")


def table() -> TableRanker:
    return TableRanker(read_frequencies(shipped_frequencies_file()))


def test_counts_tell_what_is_hidden_from_what_lies_open(small_house) -> None:
    toy = Toy("kitchen", "bedroom")
    fridge = toy.piece("fridge", "kitchen_1", (1.0, 1.0), closed=True)
    toy.thing("apple", "INSIDE", fridge)
    toy.thing("apple", "ON", toy.piece("table", "kitchen_1", (-2.0, 0.0)))
    toy.thing("book", "ON", toy.piece("bed", "bedroom_2", (1.0, 1.0)))
    found = counted([toy.house()])
    assert found.rooms["apple"] == {"kitchen": 2}
    assert found.places["apple"] == {"kitchen/fridge": 1, "kitchen/table": OPEN_WEIGHT}
    assert found.rooms["bed"] == {"bedroom": 1}
    assert counted([small_house]).houses == (small_house.name,)


def test_the_shipped_counts_are_of_the_training_houses_alone() -> None:
    found = read_frequencies(shipped_frequencies_file())
    assert found.houses == tuple(f"et_train_{number}" for number in range(34))


@pytest.mark.slow
def test_the_shipped_counts_are_what_the_script_writes() -> None:
    script = runpy.run_path(str(ROOT / "scripts" / "et_frequencies.py"))
    assert shipped_frequencies_file().read_text(encoding="utf-8") == script["text"]()


def test_a_file_of_counts_that_is_none_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "counts.json"
    path.write_text('{"version": 1, "houses": ["a"], "rooms": {"apple": 3}, "places": {}}')
    with pytest.raises(FileError, match=r"rooms\.apple"):
        read_frequencies(path)


def test_the_table_ranks_all_rooms_and_offered_furniture_only() -> None:
    ranker = table()
    ranked = asyncio.run(ranker.rank_rooms(("toothbrush",), ROOMS))
    assert ranked[0] == "bathroom_0"
    assert sorted(ranked) == sorted(ROOMS)
    offered = ("table", "fridge", "fridge", "cabinet")
    proposed = asyncio.run(ranker.large_objects(("egg",), "kitchen_0", offered))
    assert proposed[0] == "fridge"
    assert set(proposed) <= set(offered)
    assert len(set(proposed)) == len(proposed)


def test_a_class_that_was_never_counted_is_ranked_by_its_group() -> None:
    counts = Frequencies(
        houses=("one",),
        rooms={"group:fruit": {"kitchen": 5}},
        places={"group:fruit": {"kitchen/fridge": 5}},
    )
    ranker = TableRanker(counts)
    assert asyncio.run(ranker.rank_rooms(("apple",), ROOMS))[0] == "kitchen_0"
    found = asyncio.run(ranker.large_objects(("apple",), "kitchen_0", ("table", "fridge")))
    assert found == ("fridge",)
    assert asyncio.run(ranker.large_objects(("anvil",), "kitchen_0", ("fridge",))) == ()


def test_chance_is_the_same_with_the_same_seed() -> None:
    orders = [asyncio.run(RandomRanker(seed).rank_rooms(("apple",), ROOMS)) for seed in (1, 1, 2)]
    assert orders[0] == orders[1] != orders[2]
    assert sorted(orders[2]) == sorted(ROOMS)


def request(model=None, **options) -> PlannerRequest:
    part = PLANNERS.get("et_agent")
    task = Task("Find an apple.", ("agent_0",), seed=3)
    values = read_options(part.options, options)
    return PlannerRequest("et_agent", task, model, options=values)


def test_the_usual_ranker_is_the_model_then_what_was_learned_then_the_table() -> None:
    assert ranker_of(request(ScriptedModel([]))).name is RankerName.MODEL
    usual = RankerName.LEARNED if shipped_weights().is_file() else RankerName.TABLE
    assert ranker_of(request()).name is usual
    assert ranker_of(request(ScriptedModel([]), ranker="table")).name is RankerName.TABLE
    assert ranker_of(request(ranker="random")).name is RankerName.RANDOM


def test_a_ranker_without_what_it_needs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PlannerError, match="needs a language model"):
        ranker_of(request(ranker="model"))
    with pytest.raises(PlannerError, match=r"gone\.npz"):
        ranker_of(request(ranker="learned", ranker_file=str(tmp_path / "gone.npz")))
    with pytest.raises(FileError, match=r"gone\.json"):
        ranker_of(request(ranker="table", ranker_file=str(tmp_path / "gone.json")))


def model_ranker(replies: list[str], calls: list[ModelCall]) -> ModelRanker:
    return ModelRanker(
        "et_agent", ScriptedModel(replies), ("agent_0",), table(), on_call=calls.append
    )


def test_each_question_has_its_role_and_its_variables_in_order() -> None:
    calls: list[ModelCall] = []
    ranker = model_ranker(
        ["simple navigation", "find: apple", "['kitchen_0']", "['fridge', 'sky']"], calls
    )

    async def ask() -> tuple[object, ...]:
        return (
            await ranker.classify("Find an apple."),
            await ranker.decompose("Find an apple.", TaskClass.NAVIGATION),
            await ranker.rank_rooms(("apple",), ROOMS),
            await ranker.large_objects(("apple",), "kitchen_0", ("table", "fridge", "table")),
        )

    task_class, _, rooms, objects = asyncio.run(ask())
    assert task_class is TaskClass.NAVIGATION
    assert rooms == ("kitchen_0", "bathroom_0", "bedroom_0", "bedroom_1")
    assert objects == ("fridge",)
    assert [call.role for call in calls] == [
        Role.CLASSIFIER,
        Role.DECOMPOSER,
        Role.RANKER,
        Role.PROPOSER,
    ]
    for call, words in zip(
        calls,
        [
            ("Find an apple.", "simple navigation", "Where did I leave the keys?", "last line"),
            ("Find an apple.", "simple navigation"),
            ("apple", "'bathroom_0'"),
            ("kitchen_0", "['table', 'fridge']", "apple"),
        ],
        strict=True,
    ):
        text = call.messages[-1].text
        assert all(call.grammar for call in calls)
        assert [text.index(word) for word in words] == sorted(text.index(word) for word in words)


def test_solved_examples_stand_before_the_question_where_they_are_asked_for() -> None:
    """ETPLAN-T7: the same question after examples, of which none is about what is sought."""
    asked = {}
    for few_shot in (False, True):
        calls: list[ModelCall] = []
        ranker = model_ranker(["['kitchen_0']", "['fridge']"], calls)
        ranker.few_shot = few_shot
        asyncio.run(ranker.rank_rooms(("apple",), ROOMS))
        asyncio.run(ranker.large_objects(("apple",), "kitchen_0", ("table", "fridge")))
        asked[few_shot] = [call.messages[-1].text for call in calls]
    for plain, shown in zip(asked[False], asked[True], strict=True):
        assert shown.endswith(plain)
        examples = shown.removesuffix(plain)
        assert examples.count("Answer: ") == 2
        assert "apple" not in examples
    assert "Answer: ['laundry_0', 'bathroom_0', 'kitchen_0']" in asked[True][0]
    assert model_of(request(ScriptedModel([]), few_shot=True)).few_shot
    assert not model_of(request(ScriptedModel([]))).few_shot


def model_of(asked: PlannerRequest) -> ModelRanker:
    found = ranker_of(asked)
    assert isinstance(found, ModelRanker)
    return found


def test_what_cannot_be_read_is_asked_once_more_and_then_keeps_its_order() -> None:
    calls: list[ModelCall] = []
    ranker = model_ranker(["well", "hm", "perhaps", "['fridge']"], calls)
    assert asyncio.run(ranker.rank_rooms(("apple",), ROOMS)) == ROOMS
    assert len(calls) == 2
    assert "1 replies could not be read" in ranker.evidence
    assert asyncio.run(ranker.large_objects(("apple",), "kitchen_0", ("fridge",))) == ("fridge",)
    assert ranker.unread == 1


def taught(**options) -> ModelRanker:
    part = MODELS["teacher"]
    values = read_options(part.options, options)
    teacher = part.make(ModelRequest("", "", values))
    return ModelRanker("et_agent", teacher, ("agent_0",), table(), seed=4)


def test_the_teacher_answers_as_the_table_does() -> None:
    ranker, usual = taught(), table()
    text = "Put the plum into the fridge."
    assert asyncio.run(ranker.classify(text)) is TaskClass.PLACE
    errands = asyncio.run(usual.decompose(text, TaskClass.PLACE))
    assert asyncio.run(ranker.decompose(text, TaskClass.PLACE)) == errands
    rooms = asyncio.run(usual.rank_rooms(("plum",), ROOMS))
    assert asyncio.run(ranker.rank_rooms(("plum",), ROOMS)) == rooms
    assert "privileged, faults: none" in ranker.evidence


@pytest.mark.parametrize("fault", [Fault.MALFORMED, Fault.WRONG_ENTITY, Fault.SKIPPED_STEP])
def test_the_teachers_faults_are_counted_and_repaired_or_felt(fault: Fault) -> None:
    ranker = taught(**{fault.value: 1.0})
    right = asyncio.run(table().rank_rooms(("plum",), ROOMS))
    ranked = asyncio.run(ranker.rank_rooms(("plum",), ROOMS))
    assert sorted(ranked) == sorted(ROOMS)
    assert ranked != right
    assert fault.value in ranker.evidence


def test_the_agent_finds_an_apple_with_the_teachers_replies() -> None:
    toy = Toy("bathroom", "kitchen")
    fridge = toy.piece("fridge", "kitchen_2", (-2.0, 0.0), closed=True)
    apple = toy.thing("apple", "INSIDE", fridge)
    toy.piece("toilet", "bathroom_1", (2.0, 1.0))
    played = play(toy, "Find an apple.", taught())
    assert played.actions[-1] == f"Navigate[{apple}]"
    assert played.result.evidence["ranker"] == "model"
    assert "privileged" in played.result.evidence["ranker_source"]
