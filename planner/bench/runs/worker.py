"""Runs episodes one after another and returns a row, a trace and a dialogue, or the error."""

from __future__ import annotations

import math
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from planner.app.embedded_run import backend_agents, prepare_run
from planner.app.run import (
    EpisodeRun,
    RunResult,
    SimulatedPerson,
    attended,
    decision_record,
    traced,
)
from planner.app.run_options import RunOptions
from planner.bench.runs.manifest import Job, versions
from planner.bench.runs.models import (
    Models,
    clear_house_caches,
    keep_house_caches,
    return_house_caches,
    trace_stem,
)
from planner.bench.runs.rows import Fault, Row, RowAxes, RowCost, RowError, RowVerdict
from planner.bench.runs.settings import AnsweredBy, RunSettings
from planner.evaluation.metrics.metric import Metric, MetricRecord
from planner.evaluation.metrics.table import metrics
from planner.evaluation.trace import LINES, EpisodeTrace
from planner.evaluation.trace_builder import DecisionRecord, TraceBuilder
from planner.models.caller import ModelCall
from planner.models.chat import ChatModel, ModelUnavailableError
from planner.models.ledger import Account, LedgerModel
from planner.models.recorded import DialogueWriter, HeadLine
from planner.planning.part import make_planner
from planner.planning.planner import Planner, Task
from planner.training.traces.record import Provenance, TraceRecorder
from planner.world.episode import Episode, with_team
from planner.world.errors import PlannerError
from planner.world.house import House
from planner.world.house_checks import load_episode
from planner.world.vocabulary import AgentKind
from sim_bridge.backend import BACKENDS, Backend
from sim_bridge.geometry import DrawsModels


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one episode: its row, and the texts of its files ("" = none).

    Attributes:
        learnable: its traces for training, one line for each agent.
    """

    row: Row
    trace: str = ""
    dialogue: str = ""
    learnable: str = ""


def acting_agents(episode: Episode, count: int) -> tuple[str, ...]:
    """The agents that act: the first ones; a single agent is the first person (PARTNR-D1)."""
    names = backend_agents(episode)
    if count == 1:
        people = [a.uid for a in episode.agents if a.kind is AgentKind.HUMAN]
        return (*people, *names)[:1]
    return names[: count or None]


@dataclass(slots=True)
class _Listener:
    """Records an episode's model calls; the world stands still during a call."""

    writer: DialogueWriter
    has_model: bool
    run: EpisodeRun | None = None
    recorder: TraceRecorder | None = None
    decisions: list[DecisionRecord] = field(default_factory=list)

    def on_call(self, call: ModelCall) -> None:
        if not self.has_model:
            return
        step, stamp_s = self._now()
        self.writer.add(call, step, stamp_s)
        if call.answered:
            self.decisions.append(decision_record(call, stamp_s))

    def share(self) -> float:
        """The share of the goal that holds now."""
        return self.run.evaluator.progress.percent_complete if self.run is not None else 0.0

    def _now(self) -> tuple[int, float]:
        state = self.run.backend.world_state() if self.run is not None else None
        return (state.step, state.stamp_s) if state is not None else (0, 0.0)


class EpisodeWorker:
    """Runs episodes with one simulator; models are shared with other workers."""

    def __init__(self, settings: RunSettings, models: Models) -> None:
        self._settings, self._models = settings, models
        self._backend: Backend | None = None
        self._house, self._is_kept = "", False
        self._versions = dict(versions())

    async def play(self, job: Job) -> Outcome:
        """Runs one episode; errors in it become the row's error."""
        began_s, cpu_s = time.monotonic(), time.process_time()
        try:
            outcome = await self._play(job)
        except ModelUnavailableError as error:
            outcome = self._failed(job, Fault.AWAY, str(error))
        except PlannerError as error:
            outcome = self._failed(job, Fault.REFUSED, str(error))
        except Exception as error:  # A bug costs one episode, not the run.
            self.close()
            outcome = self._failed(job, Fault.CRASH, _where(error))
        took = {
            "wall_s": round(time.monotonic() - began_s, 4),
            "cpu_s": round(time.process_time() - cpu_s, 4),
        }
        return replace(outcome, row=outcome.row.model_copy(update=took))

    def close(self) -> None:
        """Frees the simulator; the next episode creates a new one."""
        if self._is_kept:
            return_house_caches()
            self._is_kept = False
        if self._backend is not None:
            self._backend.close()
            self._backend = None

    async def _play(self, job: Job) -> Outcome:
        settings = self._settings
        self._enter(job.house)
        episode, house = load_episode(job.path)
        episode = with_team(episode, settings.agents)
        acting = acting_agents(episode, settings.agents)
        chat = self._models.chat(job)
        account, builder = Account(), TraceBuilder()
        ledger_model = LedgerModel(chat, (account,), settings.prices) if chat else None
        listener = _Listener(
            DialogueWriter(self._head(episode, job, acting, chat)),
            has_model=ledger_model is not None,
        )
        make = partial(self._planner, model=ledger_model, listener=listener)
        run = self._prepared(job, episode, house, make, builder)
        listener.run = run
        person = attended(run) if settings.answered_by is AnsweredBy.SIMULATED else None
        result = await run.play()
        trace = traced(
            builder,
            episode,
            result,
            planner=settings.planner,
            seed=job.seed,
            acting=acting,
            decisions=listener.decisions,
        )
        measured = _measured(trace)
        row = self._row(job, episode, acting, chat.name if chat else "").model_copy(
            update={
                "axes": self._axes(acting, result.evidence),
                "verdict": _verdict(result),
                "cost": _cost(account),
                "evidence": _evidence(result)
                | _asked(person)
                | _counted_as(episode)
                | _drawn(run.backend),
                "trace": trace_stem(job),
                "metrics": measured.metrics,
                "portions": measured.portions,
                "left_out": measured.left_out,
            }
        )
        dialogue = listener.writer.text() if chat else ""
        return Outcome(row, _text(trace), dialogue, self._learnable(listener, episode, row, result))

    def _prepared(
        self,
        job: Job,
        episode: Episode,
        house: House,
        make: Callable[[Task], Planner],
        builder: TraceBuilder,
    ) -> EpisodeRun:
        settings = self._settings
        acting = acting_agents(episode, settings.agents)
        backend = self._world(house)
        prepared = prepare_run(
            backend,
            house,
            episode,
            make,
            RunOptions(
                acting=acting,
                seed=job.seed,
                images=settings.reads_pictures,
                trace=builder,
                updater=self._models.updater(house, backend),
                mode=settings.mode,
                all_known=settings.knows_all,
            ),
        )
        prepared.skills = settings.skills
        return prepared

    def _world(self, house: House) -> Backend:
        if not BACKENDS.get(self._settings.world_of(house)).has_pictures:
            return self._settings.open_backend(house)
        # One with pictures takes long to start, and is kept as long as the house.
        if self._backend is None:
            self._backend = self._settings.open_backend(house)
        return self._backend

    def _enter(self, house: str) -> None:
        """Drops everything of the previous house, and settles in one that has more episodes."""
        if house != self._house:
            self.close()
            self._models.leave_house()
            clear_house_caches()
            self._house = house
        elif not self._is_kept:
            keep_house_caches()
            self._is_kept = True

    def _planner(self, task: Task, model: ChatModel | None, listener: _Listener) -> Planner:
        choice = self._settings.choice(len(task.agents))
        planner = make_planner(choice, task, model, listener.on_call)
        if not self._settings.keeps_traces:
            return planner
        listener.recorder = TraceRecorder(planner, task.agents, listener.share)
        return listener.recorder

    def _learnable(self, listener: _Listener, episode: Episode, row: Row, result: RunResult) -> str:
        """The traces for training; "" if they are not kept."""
        if listener.recorder is None:
            return ""
        provenance = Provenance(
            source=listener.recorder.name,
            run=row.trace,
            episode_id=episode.episode_id,
            house=episode.house,
            split=episode.split,
            seed=row.seed,
            memory=row.memory,
            task_types=episode.task_types,
        )
        verdict = result.verdict
        traces = listener.recorder.traces(
            provenance, reward=verdict.success, percent_complete=verdict.percent_complete
        )
        return "".join(f"{trace.model_dump_json(exclude_defaults=True)}\n" for trace in traces)

    def _head(
        self, episode: Episode, job: Job, acting: Sequence[str], chat: ChatModel | None
    ) -> HeadLine:
        return HeadLine(
            episode_id=episode.episode_id,
            seed=job.seed,
            instruction=episode.instruction,
            planner=self._settings.planner,
            model=chat.name if chat is not None else "",
            agents=tuple(acting),
            axes=self._axes(acting, {}).model_dump(mode="json"),
        )

    def _axes(self, acting: Sequence[str], evidence: Mapping[str, str]) -> RowAxes:
        """The axes; a planner with only one mode of operation reports it in its evidence."""
        axes = dict(self._settings.axes(len(acting)).as_parameters())
        axes.update({key: evidence[key] for key in axes if key in evidence})
        return RowAxes.model_validate(axes)

    def _row(self, job: Job, episode: Episode, acting: Sequence[str], model: str) -> Row:
        return Row(
            episode_id=job.episode_id,
            seed=job.seed,
            house=episode.house,
            task_types=episode.task_types,
            instruction=episode.instruction,
            planner=self._settings.planner,
            model=model or self._settings.model,
            agents=tuple(acting),
            memory=self._settings.memory,
            axes=self._axes(acting, {}),
            mode=self._settings.mode,
            versions=self._versions,
        )

    def _failed(self, job: Job, fault: Fault, text: str) -> Outcome:
        return Outcome(failed_row(self._settings, job, fault, text))


def failed_row(settings: RunSettings, job: Job, fault: Fault, text: str) -> Row:
    """The row of an episode without a verdict, for which only the job is known."""
    return Row(
        episode_id=job.episode_id,
        seed=job.seed,
        house=job.house,
        task_types=(),
        instruction="",
        planner=settings.planner,
        model=settings.model,
        agents=(),
        memory=settings.memory,
        axes=RowAxes.model_validate(dict(settings.axes(settings.agents).as_parameters())),
        mode=settings.mode,
        error=RowError(fault=fault, text=text),
        versions=dict(versions()),
    )


def _verdict(result: RunResult) -> RowVerdict:
    verdict = result.verdict
    ended = [event.result for event in result.events if event.result is not None]
    return RowVerdict(
        success=verdict.success,
        percent_complete=verdict.percent_complete,
        satisfied=tuple(p.satisfied for p in verdict.propositions),
        sim_steps=verdict.sim_steps,
        explanation=verdict.explanation,
        end=result.end,
        reason=result.reason,
        decisions=result.decisions,
        skill_calls=len(ended),
        failed_skills=sum(not found.succeeded for found in ended),
    )


def _cost(account: Account) -> RowCost:
    return RowCost(
        calls=account.calls,
        failed_calls=account.failed_calls,
        prompt_tokens=account.prompt_tokens,
        cached_tokens=account.cached_tokens,
        reply_tokens=account.reply_tokens,
        seconds=round(account.seconds, 6),
        money=account.cost,
    )


def _evidence(result: RunResult) -> dict[str, str]:
    known = set(RowAxes.model_fields)
    return {key: text for key, text in result.evidence.items() if key not in known and text}


def _counted_as(episode: Episode) -> dict[str, str]:
    """The category and variants of ET-Plan-Bench that an episode counts for (ETPLAN-4.4)."""
    criteria = episode.criteria
    if criteria is None or not criteria.category:
        return {}
    variants = {"variants": " ".join(criteria.variants)} if criteria.variants else {}
    return {"category": criteria.category, **variants}


def _drawn(backend: Backend) -> dict[str, str]:
    """Whose meshes were drawn, where that may differ."""
    return {"meshes": backend.drawn_from()} if isinstance(backend, DrawsModels) else {}


def _asked(person: SimulatedPerson | None) -> dict[str, str]:
    """How often the person was asked, and what was said last."""
    if person is None:
        return {}
    last = person.exchanges[-1].answer if person.exchanges else None
    return {"questions": str(len(person.exchanges)), "last_answer": last or ""}


@dataclass(slots=True)
class _Measured:
    """The metrics of an episode in the format of rows."""

    metrics: dict[str, float] = field(default_factory=dict)
    portions: dict[str, tuple[float, float]] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)

    def take(self, metric: MetricRecord, trace: EpisodeTrace) -> None:
        if isinstance(metric, Metric):
            measure = metric.of_episode(trace)
            if measure.value is None or not math.isfinite(measure.value):
                self.left_out[metric.name] = measure.left_out
            else:
                self.metrics[metric.name] = measure.value
            return
        portion = metric.of_episode(trace)
        if portion.left_out:
            self.left_out[metric.name] = portion.left_out
        else:
            self.portions[metric.name] = portion.part, portion.whole


def _measured(trace: EpisodeTrace) -> _Measured:
    found = _Measured()
    for metric in metrics().values():
        found.take(metric, trace)
    return found


def _text(trace: EpisodeTrace) -> str:
    return "".join(LINES.dump_json(line).decode() + "\n" for line in trace.lines())


def _where(error: Exception) -> str:
    """The exception and where in our code it was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({frames[-1].filename.rpartition('/')[2]}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {error}{place}"
