"""The story and the picture of a run in this process, as the narrator makes them over ROS."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from planner.app.run import EpisodeRun
from planner.evaluation.progress import Progress
from planner.houses.marks import Move, Point
from planner.narrator import story
from planner.narrator.picture import MIN_STEP_M, Moment, draw_run, save
from planner.parts.calls import acted_as
from planner.planning.planner import AgentResult, Context, Decision, Planner
from planner.planning.session import Event
from planner.world.belief import OperationKind
from planner.world.episode import Episode
from planner.world.errors import PlannerError
from planner.world.house import House
from planner.world.observation import RgbImage
from planner.world.skill import SkillCall, SkillName, SkillResult
from planner.world.topics import one_line
from sim_bridge.backend import Backend
from sim_bridge.embedded.kinematic import KinematicBackend

MAX_MOMENTS = 10
PICTURE_NAME = "run.png"
# Simulated seconds between samples of the agents' positions.
LOOK_S = 0.1
_MOVING_CALLS = (SkillName.PICK, SkillName.PLACE, SkillName.REARRANGE)


@dataclass(slots=True)
class RunStory:
    """Listens to a run, prints it, and collects what the picture shows.

    In a world with noise no camera images are rendered for the story: each would advance the random
    generator and so change the run.

    Attributes:
        house: the episode's.
        episode: the one being run.
        agents: those that act.
        backend: the simulator; it need not have loaded the episode yet.
        has_pictures: whether camera images can be rendered.
        say: called with each line.
        moments: camera images after things were moved.
    """

    house: House
    episode: Episode
    agents: Sequence[str]
    backend: Backend
    has_pictures: bool
    say: Callable[[str], None] = print
    moments: list[Moment] = field(default_factory=list)
    _run: EpisodeRun | None = None
    _sequence: int = 0
    _last_progress: tuple[float, int] = (-1.0, -1)
    _pending_progress: tuple[float, Progress] | None = None
    _paths: dict[str, list[Point]] = field(default_factory=dict)
    # Of persons who do not act.
    _walks: dict[str, list[Point]] = field(default_factory=dict)
    _picked_at: dict[str, Point] = field(default_factory=dict)
    _moves: list[Move] = field(default_factory=list)
    _plan: str = ""
    _reasons: dict[str, str] = field(default_factory=dict)
    _moving: bool = False

    def begin(self, run: EpisodeRun) -> None:
        """Prints the task, and starts to follow the agents of a run that is about to begin."""
        self.say(f'task: "{one_line(self.episode.instruction)}"')
        self.say(f"in {self.house.name}, by {', '.join(self.agents)}")
        self._run = run
        self._paths = {agent: [] for agent in self.agents}
        run.steps.on_advance = self.look
        run.planner = _ObservedPlanner(run.planner, self.on_decision)
        if self._pending_progress is not None:
            self.on_progress(*self._pending_progress)
        self.look(0.0)

    def on_decision(self, now_s: float, decision: Decision) -> None:
        """Prints the planner's reasoning, if any; the calls follow as events."""
        self._print_found()
        calls = {agent: str(call) for agent, call in decision.calls.items()}
        plan = decision.thought
        self._reasons = {a: story.reason_of(plan, a, call) for a, call in calls.items()}
        is_explained = any(self._reasons.values()) or story.has_only_calls(plan, calls)
        if calls and plan not in ("", self._plan) and not is_explained:
            self.say(story.reason_line(now_s, plan))
        self._plan = plan

    def on_event(self, event: Event) -> None:
        """Prints that a call started or ended."""
        self._print_found()
        agent, call, result = event.agent, event.call, event.result
        if call.name == SkillName.DONE and (result is None or result.succeeded):
            return  # The end of the story reports it.
        if result is None:
            reason = self._reasons.get(agent, "")
            self.say(story.decided_line(event.stamp_s, agent, str(call), reason))
            return
        self.say(story.ended_line(event.stamp_s, agent, str(call), result.code, result.text))
        if result.succeeded and acted_as(call).name in _MOVING_CALLS:
            self._note_move(call, result)
            self._add_moment(agent, f"{story.clock(event.stamp_s)} {agent}\n{call}")

    def on_progress(self, stamp_s: float, progress: Progress) -> None:
        """Prints how much of the task is satisfied, if that has changed."""
        if self._run is None:
            # The evaluator sees the initial state while the run is being prepared.
            self._pending_progress = (stamp_s, progress)
            return
        satisfied = sum(1 for p in progress.propositions if p.satisfied)
        current = (round(progress.percent_complete, 4), satisfied)
        if not progress.propositions or current == self._last_progress:
            return
        self._print_found()
        self._last_progress = current
        total = len(progress.propositions)
        self.say(story.progress_line(stamp_s, progress.percent_complete, satisfied, total))

    def look(self, ahead_s: float) -> None:
        """Records the agents' positions from now until `ahead_s` later.

        Args:
            ahead_s: duration of the steps that are about to be taken as one, in seconds.
        """
        now_s = self.backend.now_s()
        seconds = [LOOK_S * n for n in range(max(1, math.ceil(ahead_s / LOOK_S - 1e-6)))]
        self._follow_persons()
        for after_s in seconds if self._foresees() else [0.0]:
            for agent, path in self._paths.items():
                x_m, y_m = self._position_of(agent, after_s)
                if not path or math.dist((x_m, y_m), path[-1]) > MIN_STEP_M:
                    path.append((x_m, y_m))
                    if not self._moving and len(path) > 1:
                        self._moving = True
                        self.say(story.moving_line(now_s + after_s, agent))

    def draw(self, folder: Path) -> Path:
        """Draws the picture and returns its path.

        Raises:
            PlannerError: if it cannot be written.
        """
        title = f"{self.episode.episode_id}: {one_line(self.episode.instruction)}"
        path = folder / PICTURE_NAME
        source = self._run.floor if self._run is not None else None
        floor = source() if source is not None else None
        self._follow_persons()
        ways = {**self._paths, **self._walks}
        picture = draw_run(self.house, title, ways, self._moves, self.moments, floor=floor)
        save(picture, path)
        return path

    def _follow_persons(self) -> None:
        state = self.backend.world_state() if self.episode.people else None
        for entity in state.entities.values() if state is not None else ():
            (x_m, y_m, _), path = entity.pose.position_m, self._walks.get(entity.name, [])
            if entity.person is not None and (
                not path or math.dist((x_m, y_m), path[-1]) > MIN_STEP_M
            ):
                self._walks[entity.name] = [*path, (x_m, y_m)]

    def _foresees(self) -> KinematicBackend | None:
        """The simulator if it knows where agents will be: noise and other worlds do not."""
        backend = self.backend
        if not isinstance(backend, KinematicBackend) or backend.is_noisy:
            return None
        return backend

    def _position_of(self, agent: str, after_s: float) -> Point:
        backend = self._foresees()
        if backend is None:
            state = self.backend.world_state()
            if state is None:
                raise PlannerError("the backend provides no world state")
            position_m = state.entities[agent].pose.position_m
        elif after_s:
            position_m = backend.predicted_position(agent, after_s).position_m
        else:
            position_m = backend.localised_position(agent).position_m
        return position_m[0], position_m[1]

    def _print_found(self) -> None:
        """Prints which things the memory has found since the last time."""
        if self._run is None:
            return
        memory = self._run.memory
        deltas = memory.deltas_since(self._sequence)
        self._sequence = deltas.sequence
        found = {
            edit.entity.name: change.stamp_s
            for change in deltas.changes
            for edit in change.edits
            if edit.kind is OperationKind.ADD and not edit.entity.is_furniture
        }
        if not found:
            return
        nodes = memory.belief(self.backend.now_s()).nodes
        sights: dict[float, list[story.Sighting]] = {}
        for name, stamp_s in found.items():
            node = nodes.get(name)
            if node is not None:
                sights.setdefault(stamp_s, []).append(story.Sighting.of(node, nodes))
        for stamp_s, seen in sights.items():
            for event in story.seen_events(stamp_s, seen):
                self.say(event.line)

    def _note_move(self, call: SkillCall, result: SkillResult) -> None:
        if result.position_m is None:
            return
        thing, place = str(call.arguments[0]), result.position_m[:2]
        if acted_as(call).name == SkillName.PICK:
            self._picked_at[thing] = place
        elif thing in self._picked_at:
            self._moves.append(Move(thing, self._picked_at.pop(thing), place))

    def _add_moment(self, agent: str, caption: str) -> None:
        if not self.has_pictures or self._foresees() is None or len(self.moments) >= MAX_MOMENTS:
            return
        frame = self.backend.observe(agent, ("hand",)).cameras.get("hand")
        if frame is not None:
            picture: RgbImage = frame.rgb
            self.moments.append(Moment(caption, picture.copy()))


def default_folder(episode: Episode) -> Path:
    """The folder of a run's picture, named like the bag of a demo."""
    return Path(f"demo_output/{time.strftime('%Y%m%d_%H%M%S')}_{episode.episode_id}").resolve()


@dataclass(frozen=True, slots=True)
class _ObservedPlanner:
    """Wraps a planner and reports its decisions before they are carried out."""

    planner: Planner
    on_decision: Callable[[float, Decision], None]

    @property
    def name(self) -> str:
        return self.planner.name

    async def decide(self, context: Context) -> Decision:
        decision = await self.planner.decide(context)
        self.on_decision(context.now_s, decision)
        return decision

    def observe(self, results: tuple[AgentResult, ...]) -> None:
        self.planner.observe(results)
