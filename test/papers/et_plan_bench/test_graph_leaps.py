"""Steps of the graph world that are taken as one give the same calls, results and times."""

from __future__ import annotations

import pytest
from et_toys import Told, Toy

from papers.et_plan_bench.agent import EtAgent
from papers.et_plan_bench.metrics import moving_distance
from planner.app.embedded_run import prepare_graph
from planner.app.run import RunResult
from planner.app.run_options import RunOptions
from planner.evaluation.trace_builder import TraceBuilder
from planner.world.episode import AgentPlacement, Criteria, Episode
from planner.world.vocabulary import AgentKind
from sim_bridge.graph.backend import GraphBackend

Progress = list[tuple[int, float]]


def played(
    toy: Toy, text: str, goal: Criteria, *, leaps: bool
) -> tuple[RunResult, float | None, Progress]:
    """The result, the distance moved, and when how much of the criteria held."""
    house = toy.house()
    episode = Episode(
        version=1,
        episode_id="toy",
        house=house.name,
        instruction=text,
        agents=(AgentPlacement(uid="agent_0", kind=AgentKind.ROBOT, start=(1.0, 2.0, 0.3)),),
        objects=house.objects,
        criteria=goal,
    )
    trace = TraceBuilder()
    run = prepare_graph(
        GraphBackend(),
        house,
        episode,
        lambda task: EtAgent(task, Told(rooms=["kitchen_2", "bedroom_3"])),
        RunOptions(trace=trace, leaps=leaps),
    )
    result = run.run()
    made = trace.finish(episode, result.verdict)
    lines = [(line.step, line.percent_complete) for line in made.progress]
    return result, moving_distance(made).value, lines


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", ["Find an apple.", "Put the apple into the closet.", "Put the plum on the desk."]
)
def test_leaps_change_nothing_but_the_time_it_takes(text: str) -> None:
    toy = Toy("livingroom", "kitchen", "bedroom")
    fridge = toy.piece("fridge", "kitchen_2", (-2.0, 1.0), closed=True)
    bench = toy.piece("bench", "kitchen_2", (2.0, -1.0))
    apple = toy.thing("apple", "ON", bench)
    plum = toy.thing("plum", "INSIDE", fridge)
    closet = toy.piece("closet", "bedroom_3", (2.0, 0.0), closed=True)
    desk = toy.piece("desk", "bedroom_3", (-2.0, 0.0))
    goal = Criteria.model_validate(
        {
            "variables": {
                "a": (apple,),
                "b": (bench,),
                "c": (closet,),
                "d": (desk,),
                "p": (plum,),
                "room": ("bedroom_3",),
            },
            "success": [
                ("CLOSE", "robot", "a"),
                ("ON", "a", "b"),
                ("CLOSE", "a", "b"),
                ("INSIDE", "a", "c"),
                ("ON", "p", "d"),
                ("CLOSE", "robot", "p"),
                ("INSIDE", "p", "room"),
            ],
        }
    )
    (fast, walked_m, shares), (slow, strolled_m, all_shares) = (
        played(toy, text, goal, leaps=leaps) for leaps in (True, False)
    )
    assert [(str(e.call), e.result and e.result.code) for e in fast.events] == [
        (str(e.call), e.result and e.result.code) for e in slow.events
    ]
    assert [e.stamp_s for e in fast.events] == pytest.approx([e.stamp_s for e in slow.events])
    assert fast.sim_steps == slow.sim_steps > 100
    assert fast.verdict.success == slow.verdict.success
    assert fast.verdict.explanation == slow.verdict.explanation
    # The judge sees every change, at the next frame at the latest.
    assert [share for _, share in shares] == [share for _, share in all_shares]
    assert all(
        0 <= late - step <= 12 for (late, _), (step, _) in zip(shares, all_shares, strict=True)
    )
    assert walked_m == (None if strolled_m is None else pytest.approx(strolled_m))


def test_the_distance_moved_is_that_of_the_world() -> None:
    toy = Toy("livingroom", "kitchen")
    apple = toy.thing("apple", "ON", toy.piece("bench", "kitchen_2", (2.0, -1.0)))
    goal = Criteria.model_validate(
        {"variables": {"a": (apple,)}, "success": [("CLOSE", "robot", "a")]}
    )
    _, walked_m, _ = played(toy, "Find an apple.", goal, leaps=True)
    assert walked_m is not None
    # Nearly straight from (1, 2) to the kitchen's middle at (8, 0), then towards (10, -1).
    assert 7.2 < walked_m < 10.5
