"""The checklist of search and rescue in a trace: fires that end, persons found and dropped off."""

from __future__ import annotations

from dataclasses import replace

import pytest

from papers.llamar.metrics import coverage, success, transport_rate
from papers.llamar.rescue.acting import Checklist
from papers.llamar.rescue.backend import RescueBackend
from papers.llamar.rescue.rules import RescueRules
from papers.llamar.rescue.skills import rescue_lines
from planner.app.embedded_run import prepare_run
from planner.app.run import traced
from planner.app.run_options import RunOptions
from planner.evaluation.trace import EpisodeTrace
from planner.evaluation.trace_builder import TraceBuilder
from planner.world.episode import parse_subtask
from planner.world.house_checks import load_episode


@pytest.fixture(scope="module")
def played() -> tuple[EpisodeTrace, Checklist]:
    episode, house = load_episode("rescue-5-agents-2")
    backend, builder = RescueBackend(), TraceBuilder()
    run = prepare_run(backend, house, episode, RescueRules, RunOptions(trace=builder))
    trace = traced(builder, episode, run.run(), planner="rescue_rules")
    return trace, backend.checklist


@pytest.mark.slow
def test_a_whole_run_does_the_whole_checklist(played: tuple[EpisodeTrace, Checklist]) -> None:
    trace, world = played
    assert len(trace.episode.reference.subtasks) == len(world.subtasks) == 14
    assert transport_rate(trace).value == success(trace).value == coverage(trace).value == 1.0
    assert world.scores().success


def test_the_trace_and_the_world_say_the_same_of_who_did_it(
    played: tuple[EpisodeTrace, Checklist],
) -> None:
    trace, world = played
    texts = trace.episode.reference.subtasks
    doers = {texts[line.index]: line.agent for line in trace.subtasks}
    assert doers["EndFire(sussex_fire_1)"] == world.done["EndFire(SussexFire)"][0]
    # Both dropped off in the same step.
    assert doers["DropOff(lost_person_zoe_6)"] in {"agent_0", "agent_1"}


def test_what_did_not_happen_is_not_done(played: tuple[EpisodeTrace, Checklist]) -> None:
    trace, _ = played
    items = [parse_subtask("EndFire(other_fire_9)"), parse_subtask("Spot(lost_person_jacob_5)")]
    assert rescue_lines(trace, items).keys() == {1}
    failed = replace(trace, calls=tuple(replace(line, code=11) for line in trace.calls))
    assert rescue_lines(failed, items) == {}
    never = replace(trace.end, first_steps=(None,) * len(trace.end.first_steps))
    ended = [parse_subtask("EndFire(sussex_fire_1)")]
    assert rescue_lines(trace, ended).keys() == {0}
    assert rescue_lines(replace(trace, end=never), ended) == {}
