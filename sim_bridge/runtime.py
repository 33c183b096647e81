"""The bridge without ROS: one backend behind the safety gate, and its running jobs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from planner.world.episode import Episode
from planner.world.errors import PlannerError
from planner.world.house import House
from planner.world.observation import Observation, Sighting
from planner.world.primitive import PrimitiveCode, PrimitiveResult, PrimitiveStatus
from planner.world.state import WorldState
from sim_bridge.backend import Backend, Handle, PictureSource, SensorSource, SightingSource
from sim_bridge.one_robot import Command, Outcome
from sim_bridge.pacing import TICK_S
from sim_bridge.requests import Request, read_request
from sim_bridge.safety.approvals import Answer
from sim_bridge.safety.gate import SafetyGate
from sim_bridge.safety.guard import Order
from sim_bridge.safety.health import Notifying, Supervised
from sim_bridge.safety.options import Rule, SafetyOptions

# Seconds before a robot is asked for pictures again after a failure.
CAMERA_RETRY_S = 1.0
# Characters of an unknown primitive's name in a receipt.
MAX_NAME_SHOWN = 64


@runtime_checkable
class Losable(Protocol):
    """A backend whose world may be lost, and found again by `reset`."""

    @property
    def fault(self) -> str:
        """Why the world is lost; empty while it is there."""


@dataclass(slots=True)
class Job:
    """A request to an agent and its status; `handle` is None if no backend got it."""

    agent: str
    name: str
    handle: Handle | None
    status: PrimitiveStatus


class Runtime:
    """The state of the bridge, independent of ROS."""

    def __init__(self, backend: Backend, safety: SafetyOptions | None = None) -> None:
        """Puts the safety gate in front of the backend."""
        self.gate = SafetyGate(backend, safety)
        self._robot = isinstance(backend, Supervised)
        self._losable = backend if isinstance(backend, Losable) else None
        self._notifying = backend if isinstance(backend, Notifying) else None
        self._sightings = backend if isinstance(backend, SightingSource) else None
        self._pictures = backend if isinstance(backend, PictureSource) else None
        # How a simulator's sensors err; "" where nobody knows.
        self.sensors_json = backend.sensors_json if isinstance(backend, SensorSource) else ""
        self.backend: Backend = self.gate
        self.house = ""
        self.episode_id = ""
        self.picture_fault = ""
        self._retry_pictures_s = math.inf
        self._running: list[Job] = []

    @property
    def agents(self) -> tuple[str, ...]:
        """The agents of the loaded episode."""
        return self.backend.agents

    @property
    def fault(self) -> str:
        """Why the world is lost until another episode is loaded; empty while it is there."""
        return self._losable.fault if self._losable is not None else ""

    @property
    def busy(self) -> bool:
        """Whether any agent is carrying out a primitive."""
        return bool(self._running)

    @property
    def busy_agents(self) -> frozenset[str]:
        """The agents that are carrying out a primitive."""
        return frozenset(job.agent for job in self._running)

    def load(self, house: House, episode: Episode, seed: int) -> None:
        """Loads an episode; on an error the old world and its jobs go on.

        Raises:
            PlannerError: if house and episode do not fit each other.
        """
        self.backend.reset(house, episode, seed)
        self.picture_fault = ""
        self.house, self.episode_id = house.name, episode.episode_id
        for job in self._running:
            _end(job, PrimitiveCode.CANCELED, "another episode was loaded")
        self._running.clear()

    def begin(self, agent: str, request: Request) -> Job:
        """Starts what a request asks for; a refusal is the job's result."""
        primitive = read_request(agent, self.agents, request)
        if isinstance(primitive, PrimitiveResult):
            return self.refuse(agent, request.name, primitive)
        handle = self.backend.start(agent, primitive)
        job = Job(agent, request.name, handle, self.backend.poll(handle))
        if not job.status.done:
            self._running.append(job)
        return job

    def refuse(self, agent: str, name: str, result: PrimitiveResult) -> Job:
        """The job of a request that is refused; keeps a receipt.

        Args:
            agent: that was asked.
            name: of the primitive, as requested; any text.
            result: why not.
        """
        self.gate.refused(agent, name[:MAX_NAME_SHOWN] or "primitive", result.text)
        return Job(agent, name, None, PrimitiveStatus("refused", 0.0, result))

    def refresh(self) -> None:
        """Updates the status of every running job."""
        for job in self._running:
            if job.handle is not None:
                job.status = self.backend.poll(job.handle)
        self._running = [job for job in self._running if not job.status.done]

    def cancel(self, job: Job) -> None:
        """Ends a job as CANCELED and stops its agent."""
        if job.handle is not None and not job.status.done:
            self.backend.cancel(job.handle)
            self.refresh()

    def abandon(self, job: Job, reason: str) -> None:
        """Cancels a job that nobody waits for any more."""
        self.cancel(job)
        if job.status.result is not None and job.status.result.code is PrimitiveCode.CANCELED:
            _end(job, PrimitiveCode.CANCELED, f"stopped: {reason}")

    def command(self, agent: str, command: Command) -> Outcome:
        """Carries out a Trigger service of an agent."""
        outcome = self.gate.command(agent, command)
        self.refresh()
        return outcome

    def order(self, agent: str, command: Command) -> Order:
        """Starts a Trigger service's command without waiting for a real robot to finish it.

        A simulated agent has finished at once.
        """
        if self.backend.simulated:
            outcome = self.command(agent, command)
            return Order(command, Rule.CONSENT, outcome, outcome)
        order = self.gate.order(agent, command)
        self.refresh()
        return order

    def notify(self, on_answer: Callable[[], None]) -> None:
        """Has `on_answer` called, from any thread, when `follow_orders` finds something."""
        if self._notifying is not None:
            self._notifying.notify(on_answer)

    def follow_orders(self) -> None:
        """Processes answers that arrived since the last step without waiting for the next one."""
        if self._notifying is not None:
            self.gate.follow_orders()

    def answer(self, agent: str, answer: Answer) -> Outcome:
        """Handles an operator's answer that names no question: a refusal, the lease, the dock."""
        if answer is Answer.TAKE_LEASE:
            return self.gate.take_lease(agent)
        if answer in (Answer.DOCK, Answer.UNDOCK):
            return self.gate.go_home(agent, leave=answer is Answer.UNDOCK)
        return self.gate.answers.refuse(agent)

    def step(self, dt_s: float = TICK_S) -> None:
        """Advances time and updates the jobs."""
        self.backend.step(dt_s)
        self.refresh()

    def sense(self, agent: str, cameras: Sequence[str]) -> Observation:
        """What an agent senses now, without pictures while they fail.

        A failure is kept in `picture_fault`. A simulator that cannot render is not asked again
        before the next episode; a robot's cameras are, after `CAMERA_RETRY_S`.
        """
        if cameras and (not self.picture_fault or self.now_s() >= self._retry_pictures_s):
            try:
                seen = self.backend.observe(agent, cameras)
            except PlannerError as error:
                self.picture_fault = str(error)
                self._retry_pictures_s = self.now_s() + CAMERA_RETRY_S if self._robot else math.inf
            else:
                self.picture_fault = ""
                return seen
        return self.backend.observe(agent, ())

    @property
    def has_own_pictures(self) -> bool:
        """Whether pictures come at times of their own: `picture_after` has them, not `sense`."""
        return self._pictures is not None

    def picture_after(self, agent: str, camera: str, stamp_s: float) -> Observation | None:
        """See `sim_bridge.backend.PictureSource`; None where pictures are taken on request."""
        if self._pictures is None:
            return None
        return self._pictures.picture_after(agent, camera, stamp_s)

    def watch_pictures(self) -> str:
        """Notices cameras that stopped; returns why pictures are missing, empty if none are."""
        if self._pictures is not None:
            faults = (self._pictures.picture_fault(agent) for agent in self.agents)
            self.picture_fault = "; ".join(filter(None, faults))
        return self.picture_fault

    @property
    def has_sightings(self) -> bool:
        """Whether the world says what agents see, instead of sending pictures."""
        return self._sightings is not None

    def sightings(self, agent: str) -> Sequence[Sighting]:
        """What an agent sees now; nothing where only pictures could tell."""
        return () if self._sightings is None else self._sightings.sightings_now(agent)

    def world_state(self) -> WorldState | None:
        """Ground truth, or None if it is unknown."""
        return self.backend.world_state()

    def now_s(self) -> float:
        """Seconds on the world's clock."""
        return self.backend.now_s()

    def close(self) -> None:
        """Stops every agent and frees the backend."""
        self.backend.close()


def _end(job: Job, code: PrimitiveCode, text: str) -> None:
    job.status = PrimitiveStatus("ended", job.status.progress, PrimitiveResult(code, text))
