"""Worlds that are only perceived: box variants of the predicates, and a result that says so."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from planner.evaluation.evaluator import Evaluator
from planner.evaluation.language import read_evaluation
from planner.evaluation.perceived import PerceivedWorld, TaskStart, perceived_state, task_steps
from planner.evaluation.predicates import Variant, is_inside, is_on_floor, is_on_top
from planner.evaluation.scene import Scene
from planner.world.belief import Belief, BeliefNode
from planner.world.episode import Episode
from planner.world.errors import FileError
from planner.world.house import House
from planner.world.vocabulary import EntityKind

TABLE, CABINET, CUP = "table_7", "cabinet_3", "cup_0"


def node(name: str, kind: EntityKind, at, size=(0.1, 0.1, 0.1), **more) -> BeliefNode:
    class_name = "floor" if name.startswith("floor_") else name.rsplit("_", 1)[0]
    return BeliefNode(name, kind, class_name, None, at, size, **more)


def belief(stamp_s: float, *things: BeliefNode) -> Belief:
    nodes = (
        node("kitchen_0", EntityKind.ROOM, (5, 5, 1), (0, 0, 0)),
        node("floor_kitchen_0", EntityKind.FURNITURE, (5, 5, 0), (0, 0, 0)),
        node(TABLE, EntityKind.FURNITURE, (4, 4, 0.4), (1, 1, 0.8)),
        node(CABINET, EntityKind.FURNITURE, (8, 4, 0.6), (0.6, 0.6, 1.2)),
        node("agent_0", EntityKind.AGENT, (1, 1, 0.5), (0.5, 0.5, 1)),
    )
    return Belief(stamp_s, 1, {n.name: n for n in (*nodes, *things)})


@pytest.fixture
def house(make_lab) -> House:
    """Rooms as known; none of the furniture."""
    return make_lab([]).house.model_copy(update={"furniture": ()})


def cup(x: float, y: float, underside: float) -> BeliefNode:
    return node(CUP, EntityKind.OBJECT, (x, y, underside + 0.05))


def test_furniture_that_was_only_seen_is_its_box(house: House) -> None:
    def scene(thing: BeliefNode) -> Scene:
        return Scene(house, perceived_state(belief(0.0, thing), "lab", "e").entities)

    on_table = scene(cup(4.5, 4, 0.8))
    assert is_on_top(on_table, CUP, TABLE)
    assert not is_inside(on_table, CUP, TABLE)
    assert not is_on_floor(on_table, CUP)
    in_cabinet = scene(cup(8, 4, 0.5))
    assert is_inside(in_cabinet, CUP, CABINET)
    assert not is_on_top(in_cabinet, CUP, CABINET)
    on_cabinet = scene(cup(8, 4, 1.2))
    assert is_on_top(on_cabinet, CUP, CABINET)
    assert not is_inside(on_cabinet, CUP, CABINET)
    assert is_on_floor(scene(cup(2, 2, 0.0)), CUP)
    assert not is_on_top(scene(cup(2, 2, 0.8)), CUP, TABLE)


GOAL = {
    "propositions": [
        {"function_name": "is_on_top", "args": {"objects": [CUP], "receptacles": [TABLE]}}
    ]
}


def test_a_thing_that_is_found_later_counts_then_and_the_result_says_what_was_judged(
    house: House,
) -> None:
    states = [
        perceived_state(belief(10.0), "lab", "e", 10.0),
        perceived_state(belief(11.0, cup(2, 2, 0.0)), "lab", "e", 10.0),
        perceived_state(belief(12.0, cup(4, 4, 0.8)), "lab", "e", 10.0),
    ]
    assert [state.step for state in states] == [0, 30, 60]
    assert "floor_kitchen_0" not in states[0].entities
    evaluation = read_evaluation(GOAL, "e")
    judge = Evaluator(evaluation, house, states[0], variant=Variant.PERCEIVED)
    assert judge.progress.percent_complete == 0.0
    assert judge.update(states[1]).percent_complete == 0.0
    verdict = judge.update(states[2])
    assert verdict.success
    assert verdict.propositions[0].first_step == 60
    assert judge.finish().variant == "perceived"
    # The true world leaves nothing to be found.
    with pytest.raises(FileError, match="no entity 'cup_0'"):
        Evaluator(evaluation, house, states[0])


def test_a_memory_with_numbers_of_its_own_is_judged_in_the_tasks_names(
    house: House, small_episode: Episode
) -> None:
    def numbered(number: int, x: float, y: float, underside: float, **more) -> BeliefNode:
        named = replace(cup(x, y, underside), name=f"cup_{number}", entity_id=number)
        return replace(named, **more)

    def robot(holding: str | None) -> BeliefNode:
        return node("agent_0", EntityKind.AGENT, (1, 1, 0.5), (0.5, 0.5, 1), hands=(holding,))

    world = PerceivedWorld(small_episode.model_copy(update={"evaluation": GOAL}), "lab", 1.0)
    other = numbered(131, 2, 2, 0.0)
    states = [
        world.state(belief(1.0, other, numbered(140, 2, 4, 0.0))),
        world.state(
            belief(2.0, other, robot("cup_140"), numbered(140, 3, 4, 1.0, parent="agent_0"))
        ),
        world.state(belief(3.0, other, robot(None), numbered(140, 4, 4, 0.8))),
    ]
    assert None not in states
    assert states[1].entities["agent_0"].holding == CUP
    assert states[1].entities[CUP].parent == "agent_0"
    assert "cup_140" not in states[2].entities
    judge = Evaluator(read_evaluation(GOAL, "e"), house, states[0], variant=Variant.PERCEIVED)
    assert judge.progress.percent_complete == 0.0
    judge.update(states[1])
    assert judge.update(states[2]).success


# Stamps and sequence numbers of beliefs in the order in which a judge heard them. A memory was
# killed and came back from a store that is a little older, or without one.
CAME_BACK = [
    [(0.0, 0), (959.7, 0), (966.7, 3), (966.2, 3), (968.1, 3)],
    [(0.0, 0), (706.3, 0), (713.3, 3), (0.0, 0), (720.1, 1)],
    [(0.0, 0), (706.3, 0), (713.3, 3), (713.3, 2), (720.1, 2)],
    [(705.0, 2), (704.9, 2), (706.0, 2), (706.5, 3)],
]


@pytest.mark.parametrize("told", CAME_BACK)
def test_a_memory_that_comes_back_begins_no_other_run(
    told: list[tuple[float, int]], small_episode: Episode
) -> None:
    world = PerceivedWorld(small_episode, "lab")
    states = [world.state(replace(belief(stamp_s), sequence=number)) for stamp_s, number in told]
    back = next(n for n in range(1, len(told)) if told[n] < told[n - 1])
    assert [n for n, state in enumerate(states) if state is None] == [back]
    start_s = next(stamp_s for stamp_s, _ in told if stamp_s > 0)
    assert world.start_s == start_s
    steps = [state.step for state in states if state is not None]
    assert steps == sorted(steps)
    assert steps[-1] == round((told[-1][0] - start_s) * 30)
    # The same from a recording, where the start is known from the verdict.
    recorded = PerceivedWorld(small_episode, "lab", start_s)
    again = [recorded.state(replace(belief(at_s), sequence=number)) for at_s, number in told]
    assert [s for s in again if s is not None] == [s for s in states if s is not None and s.stamp_s]


def test_a_thing_that_was_forgotten_is_nowhere(house: House) -> None:
    start = perceived_state(belief(0.0, cup(4, 4, 0.8)), "lab", "e")
    judge = Evaluator(read_evaluation(GOAL, "e"), house, start, variant=Variant.PERCEIVED)
    assert judge.progress.success
    gone = {name: entity for name, entity in start.entities.items() if name != CUP}
    now = judge.update(replace(start, step=30, entities=gone))
    assert "no longer held at the end" in now.explanation


@pytest.mark.parametrize(
    ("start_s", "steps"),
    [(None, 90), (math.nan, 90), (0.0, 90), (1.0, 60), (2.99, 0), (3.5, 0), (-1.0, 90)],
)
def test_steps_count_from_the_instruction_where_it_is_known(
    start_s: float | None, steps: int
) -> None:
    assert task_steps(90, 3.0, start_s) == steps


def status(stamp_s: float, state: int = 1, goal: str = "{}", episode: str = "small") -> Any:
    stamp = SimpleNamespace(sec=int(stamp_s), nanosec=round(stamp_s % 1 * 1e9))
    header = SimpleNamespace(stamp=stamp)
    return SimpleNamespace(header=header, state=state, goal=goal, episode_id=episode)


@pytest.mark.parametrize(
    ("statuses", "start_s"),
    [
        ([], None),
        ([status(1.0, state=0), status(1.5, goal=""), status(2.0, episode="")], None),
        ([status(1.0, goal=""), status(2.0), status(3.0), status(4.0, state=3)], 2.0),
        # Time went back: the world was loaded again.
        ([status(5.0), status(0.0, state=0)], None),
        ([status(5.0), status(1.5)], 1.5),
    ],
)
def test_the_start_is_the_first_instruction_with_a_goal(
    statuses: list[Any], start_s: float | None
) -> None:
    start = TaskStart()
    for message in statuses:
        start.observe(message)
    assert start.start_s == start_s
