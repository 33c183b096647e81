"""Runs that are judged by what their planner has understood so far."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from papers.helper.teach.tasks import read_tasks, task_file
from papers.llamar import metrics as llamar
from papers.partnr import metrics as partnr
from planner.app.embedded_run import prepare_run
from planner.app.run import WordsEvaluator, attended
from planner.app.run_options import RunOptions
from planner.cli import main
from planner.evaluation.metrics import measure, outcome
from planner.evaluation.metrics.table import summarise
from planner.evaluation.trace import read_traces
from planner.evaluation.trace_builder import TraceBuilder
from planner.planning.expert.expert import Expert
from planner.planning.planner import AgentResult, Context, Decision, Planner, Task
from planner.world.errors import PlannerError
from planner.world.house import House
from planner.world.house_checks import load_house
from planner.world.skill import SkillCall, SkillName
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.embedded.options import EmbeddedOptions, default_options
from sim_bridge.opening import bare_episode

ON_COUCH = {"on_top": {"the": "couch"}}


def test_the_trace_counts_what_was_understood_last(small_house: House) -> None:
    """An answer may add a part to the goal; what counted before has fewer parts."""
    episode = bare_episode(small_house, 1)
    backend = EmbeddedBackend(default_options().model_copy(update={"renderer": "none"}))
    backend.reset(small_house, episode, 1)
    state = backend.world_state()
    backend.close()
    assert state is not None
    builder = TraceBuilder()
    judge = WordsEvaluator(small_house, state, "agent_0", builder)
    judge.take_goal({"understood": [{"move": {"the": "cup"}, "to": ON_COUCH}]})
    judge.take_goal({"understood": [{"move": [{"the": "cup"}, {"the": "book"}], "to": ON_COUCH}]})
    trace = builder.finish(episode, judge.finish())
    assert len(trace.episode.propositions) == 2
    assert [line.satisfied for line in trace.progress] == [(False, False)]


QUESTION = "Is everything as you want it?"


@dataclass(slots=True)
class AsksFirstAndLast:
    """Asks before it begins, then works as the expert does, and asks again before it is done."""

    inner: Planner
    asked: int = 0
    answers: list[str | None] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.inner.name

    async def decide(self, context: Context) -> Decision:
        self.answers = [exchange.answer for exchange in context.answers]
        if not self.asked:
            self.asked = 1
            return Decision(question=QUESTION)
        decision = await self.inner.decide(context)
        ends = any(call.name == SkillName.DONE for call in decision.calls.values())
        if ends and self.asked == 1:
            self.asked = 2
            return Decision(question=QUESTION)
        return (
            Decision(calls={"agent_0": SkillCall(SkillName.DONE)}) if self.asked == 2 else decision
        )

    def observe(self, results: tuple[AgentResult, ...]) -> None:
        self.inner.observe(results)


def test_it_says_what_is_wrong_until_nothing_is() -> None:
    task = next(t for t in read_tasks(task_file()).tasks if t.name == "first_coffee")
    episode, house = task.episode("heldout_0"), load_house("heldout_0")
    backend = EmbeddedBackend(EmbeddedOptions(renderer="none"))
    made: list[AsksFirstAndLast] = []

    def make(given: Task) -> AsksFirstAndLast:
        made.append(AsksFirstAndLast(Expert(given)))
        return made[0]

    try:
        run = prepare_run(backend, house, episode, make, RunOptions(images=False))
        person = attended(run)
        result = run.run()
    finally:
        backend.close()
    assert result.verdict.success
    first, last = person.exchanges
    assert first.answer == (
        'The subtask "make the cup clean" failed: the cup should be clean. '
        'The subtask "make the cup filled with coffee" failed: '
        "the cup should be filled with coffee."
    )
    assert (last.question, last.answer) == (QUESTION, "done")
    assert made[0].answers == [first.answer, last.answer]


def test_a_run_that_words_judge_has_no_goal_to_know() -> None:
    task = read_tasks(task_file()).tasks[0]
    episode = task.episode("train_0").model_copy(update={"evaluation": None})
    backend = EmbeddedBackend(EmbeddedOptions(renderer="none"))
    try:
        run = prepare_run(backend, load_house("train_0"), episode, Expert, RunOptions(images=False))
        with pytest.raises(PlannerError, match="only the goal of an episode"):
            attended(run)
    finally:
        backend.close()


def test_a_run_leaves_its_trace(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    assert main(["run", "fruit_0", "--no-images", "-o", str(tmp_path), "--trace", str(path)]) == 0
    (trace,) = read_traces(path)
    assert (trace.episode.episode_id, trace.end.reason) == ("fruit_0", "done")
    assert outcome.success(trace).value == 1.0
    placed = [c for c in trace.calls if c.call.startswith("Place")]
    assert placed
    for call in placed:
        assert 0 < call.started_step < call.ended_step <= trace.end.sim_steps
        assert partnr.is_useful(trace, call)
    doers = {measure.doer_of(trace, i) for i in range(len(trace.episode.propositions))}
    assert doers <= {call.agent for call in placed}
    assert partnr.exploration_efficiency(trace).value < placed[0].ended_step
    assert llamar.coverage(trace).value == 1.0
    rows = {row.metric.name: row.estimate.value for row in summarise([trace])}
    assert rows["moving_distance"] > 1.0
    assert rows["extraneous_effort"] == 0.0
    assert rows["planning_cycles"] is None
    # A checklist and a length reach the metrics without anybody's adding them.
    assert len(trace.episode.reference.subtasks) == len(trace.subtasks) > len(placed)
    assert {line.agent for line in trace.subtasks} <= {call.agent for call in trace.calls}
    assert (rows["transport_rate"], rows["llamar_success"]) == (1.0, 1.0)
    assert trace.episode.reference.length >= 4 * len(placed)
    assert 0.0 < rows["weighted_success"] <= 1.0
    assert rows["weighted_goal_conditions"] == rows["weighted_success"]


@pytest.mark.slow
def test_a_run_leaves_its_states_to_be_judged_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log, trace = tmp_path / "states.jsonl", tmp_path / "run.jsonl"
    run = ["run", "fruit_0", "--no-images", "-o", str(tmp_path), "--trace", str(trace)]
    assert main([*run, "--state-log", str(log)]) == 0
    capsys.readouterr()
    assert main(["evaluate", str(log), "--json"]) == 0
    (result,) = json.loads(capsys.readouterr().out)["results"]
    (told,) = read_traces(trace)
    assert (result["episode"], result["success"]) == ("fruit_0", True)
    assert result["sim_steps"] == told.end.sim_steps
    firsts = [p["first_step"] for p in result["propositions"]]
    assert firsts == list(told.end.first_steps)
    assert main([*run, "--state-log", str(tmp_path)]) == 2
    assert "cannot be written" in capsys.readouterr().err


@pytest.mark.slow
def test_an_imported_task_of_criteria_alone_is_run_and_judged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    walks = [
        f"<char0> [walk] <{word}> ({n})" for n, word in enumerate(["kitchen", "desk", "apple"])
    ]
    task = {
        "task": "Gronk.",
        "task_completion_criterion": "(CLOSE, robot, apple)",
        "env_id": 1,
        "ground_truth_plan": walks,
    }
    (tmp_path / "tasks.json").write_text(json.dumps(task), encoding="utf-8")
    words = [str(tmp_path / "tasks.json"), "--output", str(tmp_path / "made")]
    assert main(["episodes", "import", "et-plan-bench", *words]) == 0
    assert "imported 1, of which 1 can be judged" in capsys.readouterr().out
    trace = tmp_path / "run.jsonl"
    episode = str(tmp_path / "made" / "tasks-1.json")
    # Words that are not understood: nothing is done, and that is judged.
    assert main(["run", episode, "--no-images", "-o", str(tmp_path), "--trace", str(trace)]) == 1
    (told,) = read_traces(trace)
    assert (told.end.success, told.end.criteria, told.episode.propositions) == (False, False, ())
    assert told.end.explanation == "At the end agent_0 is not close to apple_0."
    assert told.episode.reference.actions[-1] == "Navigate[apple_0]"
    assert told.episode.reference.length == 3
    rows = {row.metric.name: row.estimate.value for row in summarise([told])}
    assert (rows["criteria_success"], rows["sequence_length"]) == (0.0, 20.0)
    assert (rows["lcs_ratio"], rows["transport_rate"]) == (0.0, None)
