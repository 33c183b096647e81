"""What a task lacks at the start, and the checklist that a run ticks off."""

from __future__ import annotations

from dataclasses import replace

import pytest
from judge_lab import MODES

from planner.evaluation.language import read_evaluation
from planner.evaluation.progress import Mode
from planner.evaluation.subtasks import Need, plan_length, with_checklist
from planner.evaluation.trace_builder import TraceBuilder, TracedEvaluator
from planner.world.episode import Episode
from planner.world.skill import SkillCode, SkillResult
from planner.world.vocabulary import Relation


def goal(predicate: str, first: list[str], second: list[str] | None = None, **more):
    names = {"is_next_to": ("entities_a", "entities_b"), "is_in_room": ("objects", "rooms")}
    a, b = names.get(predicate, ("objects", "receptacles"))
    args = {a: first, **({} if second is None else {b: second}), **more}
    return {"function_name": predicate, "args": args}


def traced(lab, *propositions, mode=Mode.STRICT):
    evaluation = read_evaluation({"propositions": list(propositions)}, "test")
    builder = TraceBuilder()
    return builder, TracedEvaluator(evaluation, lab.house, lab.state(), mode, builder=builder)


@pytest.mark.parametrize("mode", MODES)
def test_only_what_is_missing_is_needed(make_lab, mode) -> None:
    cups = ["cup_0", "cup_1", "cup_2"]
    lab = make_lab(cups, ("cleanable",))
    lab.on("cup_1", "table_0").set("cup_2", "clean")
    builder, _ = traced(
        lab,
        goal("is_on_top", cups, ["table_0"], number=3),
        goal("is_clean", cups, number=2),
        mode=mode,
    )
    assert builder.lacking == (
        Need(("cup_0", "cup_2"), 2, carried=True),
        Need(("cup_0", "cup_1"), 1, carried=False, calls=2),
    )
    assert builder.length == 2 * 4 + 2


def test_the_same_place_for_all_may_move_what_lies_elsewhere(make_lab) -> None:
    lab = make_lab(["cup_0", "cup_1"])
    lab.on("cup_0", "table_0").on("cup_1", "table_1")
    both = ["cup_0", "cup_1"]
    same = goal("is_on_top", both, ["table_0", "table_1"], number=2, is_same_b=True)
    builder, _ = traced(lab, same)
    assert builder.lacking == (Need(("cup_0", "cup_1"), 1, carried=True),)


def test_one_placement_serves_nearness_and_room_by_the_way(make_lab) -> None:
    lab = make_lab(["cup_0", "plate_0"])
    builder, _ = traced(
        lab,
        goal("is_next_to", ["cup_0"], ["plate_0"]),
        goal("is_on_top", ["cup_0"], ["table_2"]),
        goal("is_in_room", ["cup_0"], ["living_room_0"]),
    )
    assert builder.lacking == (Need(("cup_0",), 1, carried=True),)
    alone, _ = traced(lab, goal("is_next_to", ["cup_0"], ["plate_0"]))
    assert alone.lacking == (Need(("cup_0", "plate_0"), 1, carried=True),)


def test_what_is_shut_costs_a_call_each(make_lab, pieces) -> None:
    lab = make_lab(["cup_0", "cup_1"], (), [pieces["drawers"]("chest_0", "kitchen_0", 8, 4)])
    for name in ("cup_0", "cup_1"):
        lab.entities[name] = replace(lab.entities[name], parent="chest_0", relation=Relation.WITHIN)
    builder, _ = traced(lab, goal("is_on_top", ["cup_0", "cup_1"], ["table_0"], number=2))
    assert builder.length == 2 * 4 + 1
    lab.open("chest_0", 1.0)
    assert plan_length(builder.lacking, lab.entities) == 2 * 4


def test_what_holds_from_the_start_needs_nothing(make_lab) -> None:
    lab = make_lab(["cup_0"]).on("cup_0", "table_0")
    builder, evaluator = traced(lab, goal("is_on_top", ["cup_0"], ["table_0"]))
    trace = finished(builder, evaluator)
    assert (builder.length, trace.episode.reference.length) == (0, None)
    assert trace.episode.reference.subtasks == ()
    assert trace.complete_at_start


def finished(builder, evaluator):
    document = {"version": 1, "episode_id": "e", "house": "lab", "instruction": "Tidy up."}
    agents = [{"uid": f"agent_{i}", "kind": kind} for i, kind in enumerate(("robot", "human"))]
    episode = Episode.model_validate({**document, "agents": agents})
    return builder.finish(episode, evaluator.result())


def test_a_run_ticks_off_what_it_takes_and_achieves(make_lab) -> None:
    lab = make_lab(["cup_0", "cup_1"])
    cups = ["cup_0", "cup_1"]
    builder, evaluator = traced(
        lab,
        goal("is_on_top", cups, ["table_0"], number=2),
        goal("is_in_room", ["cup_0"], ["kitchen_0"]),
    )

    def call(agent, text, code=SkillCode.SUCCESS):
        now_s = evaluator.progress.sim_steps * 0.1
        builder.add_call(agent, text, SkillResult(code, ""), now_s, now_s - 0.1)

    evaluator.update(lab.state())
    call("agent_0", "Pick[cup_1]", SkillCode.TOO_FAR)
    call("agent_0", "Pick[cup_0]")
    evaluator.update(lab.on("cup_0", "table_0").state())
    call("agent_0", "Place[cup_0, on, table_0, None, None]")
    # Twice the same cup is one of two.
    evaluator.update(lab.state())
    call("agent_1", "Pick[cup_0]")
    trace = finished(builder, evaluator)
    assert trace.episode.reference.subtasks == (
        "take cup_0 or cup_1",
        "take cup_0 or cup_1",
        "2 of cup_0 and cup_1 on top of table_0",
        "cup_0 in kitchen_0",
    )
    assert [(line.index, line.agent) for line in trace.subtasks] == [(0, "agent_0"), (3, "agent_0")]
    evaluator.update(lab.on("cup_1", "table_0", dx=0.3).state())
    call("agent_1", "Rearrange[cup_1, on, table_0, None, None]")
    trace = finished(builder, evaluator)
    assert trace.end.success
    ticked = [(line.index, line.agent) for line in trace.subtasks]
    assert ticked == [(0, "agent_0"), (3, "agent_0"), (1, "agent_1"), (2, "agent_1")]
    # One call that takes and places is one action (LLAMAR-D43).
    taken, placed = trace.subtasks[2:]
    assert taken.step == placed.step
    assert with_checklist(trace, builder.lacking) is trace
