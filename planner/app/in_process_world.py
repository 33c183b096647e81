"""The world of a session in this process: a backend, executors and a memory, without ROS.

Planning takes no simulated time. Waiting for an event never yields to other tasks: it steps the
world.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from pydantic import JsonValue

from planner.app.run_options import MAX_STEPS, Steps
from planner.memory.features import ViewEncoder
from planner.memory.maps.occupancy import CAMERA
from planner.models.chat import Picture
from planner.planning.planner import AgentResult, TeamMessage
from planner.planning.session import Event, OnGoal, Status, ignore_goal
from planner.skills.attempt import Eye, FloorSource
from planner.skills.executor import SkillExecutor
from planner.skills.find_model import FindModel
from planner.skills.kind import SkillChoice
from planner.skills.results import Team
from planner.world.belief import Belief
from planner.world.geometry import Pose
from planner.world.house import House
from planner.world.observation import Observation, RgbImage
from planner.world.primitive import Capabilities, Primitive, PrimitiveStatus
from planner.world.skill import SkillCall, SkillResult
from sim_bridge.backend import Backend, Handle

# Adapts a backend in this process to the port through which skills drive an agent.


class BackendPort:
    """One agent of a backend; see `planner.skills.attempt.PrimitivePort`.

    The owner of the backend advances time with its `step`.
    """

    def __init__(self, backend: Backend, agent: str) -> None:
        """`backend` has an episode loaded in which the agent exists."""
        self._backend = backend
        self.agent = agent
        self._capabilities = backend.capabilities(agent)

    def capabilities(self) -> Capabilities:
        """The capabilities of the agent's body."""
        return self._capabilities

    def base(self) -> Pose | None:
        """`base_link` in `map` as localised by the backend."""
        return self._backend.observe(self.agent, ()).base

    def observe(self, cameras: Sequence[str] = ("hand",)) -> Observation | None:
        """What the backend lets the agent sense now."""
        return self._backend.observe(self.agent, cameras)

    def holding(self) -> bool | None:
        """Whether the body feels something in its hand."""
        return self._backend.observe(self.agent, ()).holding

    def start(self, primitive: Primitive) -> int:
        """Starts a primitive; a refusal appears as its polled result."""
        return self._backend.start(self.agent, primitive)

    def poll(self, handle: int) -> PrimitiveStatus:
        """The status of a primitive."""
        return self._backend.poll(Handle(handle))

    def cancel(self, handle: int) -> None:
        """Cancels a primitive and stops the agent."""
        self._backend.cancel(Handle(handle))

    def now_s(self) -> float:
        """Seconds of the backend's clock."""
        return self._backend.now_s()


class InProcessWorld:
    """What one session needs to run one episode."""

    def __init__(
        self,
        layout: House,
        agents: Sequence[str],
        steps: Steps,
        all_known: Callable[[], Belief] | None,
        on_event: Callable[[Event], None],
        find_model: FindModel | None = None,
        on_goal: OnGoal = ignore_goal,
        encoder: ViewEncoder | None = None,
        floor: FloorSource | None = None,
        skills: SkillChoice | None = None,
    ) -> None:
        """Creates the agents' executors.

        Args:
            layout: the house without its objects.
            agents: the agents of the task.
            steps: advances backend, memory and evaluator.
            all_known: the belief that planners and skills get instead of the memory's.
            on_event: called with each call that starts or ends.
            find_model: answers the Find tools; None = they answer by rule.
            on_goal: called with the goal that the planner has understood.
            encoder: compares pictures with words for ExploreByView; None = nothing does.
            floor: the map that the robots build; None = they walk by the layout.
            skills: who moves the bodies; None = the world's own primitives.
        """
        self.layout = layout
        self.on_event = on_event
        self._on_goal = on_goal
        self.sim_steps = 0
        self._steps, self._backend, self._memory = steps, steps.backend, steps.memory
        self._all_known = all_known
        team = Team()
        eye = Eye(encoder, self._image) if encoder is not None else None
        self._executors = {
            agent: SkillExecutor(
                layout,
                BackendPort(self._backend, agent),
                self._belief,
                team=team,
                report=partial(self._remember, agent),
                find_model=find_model,
                eye=eye,
                floor=floor,
                choice=skills,
            )
            for agent in agents
        }
        self._able = {agent: one.capabilities for agent, one in self._executors.items()}
        self._running: dict[str, SkillCall] = {}
        self.messages: tuple[TeamMessage, ...] = ()

    @property
    def belief(self) -> Belief:
        """The newest belief."""
        return self._belief()

    def _belief(self) -> Belief:
        if self._all_known is not None:
            return self._all_known()
        return self._memory.belief(self.now_s)

    def _image(self, agent: str) -> RgbImage | None:
        frame = self._backend.observe(agent, (CAMERA,)).cameras.get(CAMERA)
        return frame.rgb if frame is not None else None

    def _remember(self, agent: str, call: SkillCall, result: SkillResult) -> None:
        self._memory.note_result(agent, call, result, self.now_s)

    @property
    def now_s(self) -> float:
        """Seconds of the world's clock."""
        return self._backend.now_s()

    def capabilities(self) -> Mapping[str, Capabilities]:
        """The capabilities of each agent of the task."""
        return self._able

    def deltas(self, since: int) -> Sequence[str]:
        """The memory's lines since a number up to the belief's."""
        return self._memory.deltas_since(since).lines

    def picture(self, agent: str) -> Picture | None:
        """What an agent's hand camera shows now; None if the frame was dropped.

        Raises:
            PlannerError: if the backend renders nothing.
        """
        frame = self._backend.observe(agent, (CAMERA,)).cameras.get(CAMERA)
        return None if frame is None else Picture.of(frame.rgb)

    def say(self, message: TeamMessage) -> None:
        """All agents hear it at once."""
        self.messages += (message,)

    def start(self, agent: str, call: SkillCall) -> None:
        """Starts a call."""
        self._running[agent] = call
        self._executors[agent].start(call)

    def take_results(self) -> Sequence[AgentResult]:
        """The calls that have ended since the last call of this method, by agent."""
        ended = []
        for agent, executor in self._executors.items():
            result = executor.result
            if agent in self._running and result is not None:
                ended.append(AgentResult(agent, self._running.pop(agent), result, self.now_s))
        return ended

    async def next_event(self, *, or_belief_change: bool) -> bool:
        """Steps the world until a call has ended or, with `or_belief_change`, a frame is due."""
        working = {a: one for a, one in self._executors.items() if a in self._running}
        while self.sim_steps < MAX_STEPS:
            self.sim_steps += self._steps.advance(working, MAX_STEPS - self.sim_steps)
            # All other agents only wait for their bodies.
            stirring = [one for one in working.values() if not one.is_waiting]
            for executor in stirring:
                executor.step()
            self._steps.look()
            if or_belief_change or any(one.running is None for one in stirring):
                break
        return self.sim_steps < MAX_STEPS

    async def settle(self, agents: Sequence[str], ended: Mapping[str, AgentResult]) -> None:
        """Returns at once: the memory receives each result as its call ends."""

    def halt(self) -> None:
        """Cancels every running call; the bodies stop in the next step."""
        for agent in self._running:
            self._executors[agent].cancel()

    async def stop(self) -> None:
        """Cancels every running call; the bodies stop in the next step."""
        self.halt()
        self._running.clear()

    def on_status(self, status: Status) -> None:
        """Does nothing: the events say the same."""

    def on_goal(self, goal: Mapping[str, JsonValue]) -> None:
        """Passes the understood goal on."""
        self._on_goal(goal)
