"""Carries out one agent's skill calls, one at a time, without ever blocking.

The skill-executor node and runs without ROS use the same class: `start` a call, `step` after each
tick of the world (or any event), read `result`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from planner.parts.calls import parse_call
from planner.skills.attempt import (
    Attempt,
    CanceledError,
    Eye,
    FloorSource,
    PrimitivePort,
    Routine,
    Scene,
    SkillOptions,
    TookTooLongError,
)
from planner.skills.find_model import FindModel
from planner.skills.ground import Ground, ground_of
from planner.skills.kind import SkillChoice, make_mover
from planner.skills.part import SKILLS
from planner.skills.preconditions import grounded
from planner.skills.results import Action, RefusalError, Team, canceled, timed_out
from planner.world.belief import Belief
from planner.world.floor_map import FloorMap
from planner.world.geometry import Vec3
from planner.world.house import House
from planner.world.primitive import Capabilities
from planner.world.skill import CallError, SkillCall, SkillCode, SkillResult

Report = Callable[[SkillCall, SkillResult], None]


@dataclass(frozen=True, slots=True)
class SkillStatus:
    """The current phase as text, and the progress from 0 to 1."""

    phase: str
    progress: float


_IDLE = SkillStatus("idle", 0.0)


def _no_report(_call: SkillCall, _result: SkillResult) -> None:
    """For callers that only need results."""


class SkillExecutor:
    """Executes the skills of one agent."""

    def __init__(
        self,
        layout: House,
        port: PrimitivePort,
        belief: Callable[[], Belief],
        options: SkillOptions | None = None,
        *,
        team: Team | None = None,
        report: Report = _no_report,
        find_model: FindModel | None = None,
        eye: Eye | None = None,
        floor: FloorSource | None = None,
        choice: SkillChoice | None = None,
        speak: Callable[[str], None] = lambda _text: None,
    ) -> None:
        """Creates the executor of the port's agent.

        Args:
            layout: the house's rooms, doors and furniture; its `objects` are ignored.
            port: the agent's body.
            belief: returns the memory's newest snapshot.
            options: None = defaults.
            team: shared by the executors of one house; None = one of its own.
            report: called with each call that ended and, before it, with each successful step of
                a Rearrange, whose results name the whole call in `part_of`.
            find_model: answers the Find tools; None = they answer by rule.
            eye: compares pictures with words for ExploreByView; None = it goes where it has not
                been for longest.
            floor: the map that the robots build; None = they build none and walk by the layout.
            choice: who moves the body; None = the world's own primitives.
            speak: called with each sentence when it is said to a person.

        Raises:
            PlannerError: for a choice that does not suit the body.
        """
        capabilities = port.capabilities()
        self._scene = Scene(
            layout=layout,
            ground=ground_of(layout, capabilities.radius_m),
            port=port,
            capabilities=capabilities,
            belief=belief,
            options=options or SkillOptions(),
            team=team or Team(),
            report=report,
            find_model=find_model,
            eye=eye,
            floor=floor,
            mover=None if choice is None else make_mover(choice, port.agent, capabilities),
            speak=speak,
        )
        self._stood_on: FloorMap | None = None
        self._attempt: Attempt | None = None
        self._routine: Routine | None = None
        self._status = _IDLE
        self._result: SkillResult | None = None

    # Reading

    @property
    def agent(self) -> str:
        """The agent's name."""
        return self._scene.agent

    @property
    def capabilities(self) -> Capabilities:
        """The capabilities of the agent's body."""
        return self._scene.capabilities

    @property
    def running(self) -> SkillCall | None:
        """The running call."""
        return self._attempt.call if self._attempt is not None else None

    @property
    def status(self) -> SkillStatus:
        """The status of the running call; after its end, the last phase."""
        return self._status

    @property
    def result(self) -> SkillResult | None:
        """The result of the newest call; None while one is running and before the first."""
        return self._result

    # Acting

    def start(
        self, call: SkillCall | str, timeout_s: float = 0.0, points: tuple[Vec3, ...] | None = None
    ) -> SkillResult | None:
        """Starts a call.

        A call identical to the running one is not restarted (PARTNR-D55); another one is refused
        as BUSY and does not affect the running one.

        Args:
            call: parsed, or in PARTNR's syntax.
            timeout_s: on the world's clock; 0 = the skill's default.
            points: positions of the call's entities, in their order, map frame; None = those of
                the memory.

        Returns:
            The result if the call ended immediately: a refusal, a tool's answer, Done.
        """
        now_s = self._scene.port.now_s()
        self._scene.team.tick(now_s)
        try:
            parsed = parse_call(call) if isinstance(call, str) else call
        except CallError as error:
            return self._refuse(SkillResult.failure(error.code, f"{error}."))
        if self.running is not None:
            if self.running == parsed:
                return None
            sentence = f"The agent is busy with {self.running}."
            return self._refuse(SkillResult.failure(SkillCode.BUSY, sentence))
        if not (math.isfinite(timeout_s) and timeout_s >= 0):
            sentence = f"timeout_s {timeout_s} is not 0 or a time."
            return self._refuse(SkillResult.failure(SkillCode.WRONG_ARGUMENTS, sentence))
        part = SKILLS.find(parsed.name)
        if part is None:
            sentence = f"there is no skill {parsed.name!r}."
            return self._refuse(SkillResult.failure(SkillCode.UNKNOWN_SKILL, sentence))
        usual_s = self._scene.options.timeouts_s.get(parsed.name, part.timeout_s)
        limit_s = timeout_s or usual_s
        self._stand_on_built_floor()
        attempt = Attempt(self._scene, parsed, part, now_s, now_s + limit_s, points)
        attempt.evidence["agent"] = self.agent
        self._result, self._attempt = None, attempt
        self._status = SkillStatus("starting", 0.0)
        if not part.is_query:
            self._scene.team.began(Action(self.agent, parsed, now_s))
        try:
            arguments = grounded(attempt)
            for precondition in part.preconditions:
                precondition(attempt, arguments)
            self._routine = part.routine(attempt, arguments)
        except RefusalError as refusal:
            self._end(attempt.refused(refusal))
        else:
            self._advance()
        return self._result

    def _stand_on_built_floor(self) -> None:
        """With a map of their own, robots stand only on floor that it shows as free."""
        scene = self._scene
        floor = scene.floor() if scene.floor is not None else None
        if floor is None or floor is self._stood_on:
            return
        radius_m = scene.capabilities.radius_m
        ground = Ground(scene.layout, radius_m, floor.walkable(radius_m))
        self._scene, self._stood_on = replace(scene, ground=ground), floor

    @property
    def is_waiting(self) -> bool:
        """Whether the running call is only waiting for the agent's body."""
        attempt = self._attempt
        return attempt is not None and attempt.is_waiting

    @property
    def quiet_until_s(self) -> float:
        """The world time until which the call is idle; infinity if no call is running.

        While the body executes a primitive it is 0, since that may end at any time.
        """
        return math.inf if self._attempt is None else self._attempt.wakes_s

    def step(self) -> SkillResult | None:
        """Advances as far as possible now; returns the result once the call has ended."""
        self._scene.team.tick(self._scene.port.now_s())
        self._advance()
        return self._result

    def cancel(self) -> None:
        """Stops the agent; the call ends as CANCELED as soon as its body has stopped."""
        attempt = self._attempt
        if attempt is None or attempt.canceled:
            return
        attempt.canceled = True
        if attempt.handle is not None:
            self._scene.port.cancel(attempt.handle)
        self._advance()

    def _refuse(self, result: SkillResult) -> SkillResult:
        """Returns a refusal without affecting a running call."""
        result = replace(result, ended_s=self._scene.port.now_s())
        if self._attempt is None:
            self._result = result
        return result

    def _advance(self) -> None:
        attempt, routine = self._attempt, self._routine
        if attempt is None or routine is None:
            return
        try:
            phase, progress = next(routine)
            self._status = SkillStatus(phase, max(progress, self._status.progress))
        except StopIteration as stop:
            self._end(stop.value)
        except CanceledError:
            self._end(canceled(**attempt.evidence))
        except TookTooLongError:
            self._end(timed_out(attempt.part.timed_out_text, **attempt.evidence))
        except RefusalError as refusal:
            self._end(attempt.refused(refusal))

    def _end(self, result: SkillResult) -> None:
        attempt = self._attempt
        if attempt is None:
            return
        self._attempt = self._routine = None
        now_s = max(self._scene.port.now_s(), attempt.ended_s)
        self._result = replace(
            result,
            evidence={**result.evidence, "primitives": str(attempt.primitives)},
            hands=attempt.hands if self._scene.team.knows_hands(self.agent) else None,
            duration_s=round(max(0.0, now_s - attempt.started_s), 3),
            ended_s=now_s,
        )
        done = 1.0 if result.succeeded else self._status.progress
        self._status = SkillStatus(self._status.phase, done)
        if not attempt.part.is_query:
            self._scene.team.ended(self.agent, self._result)
        self._scene.report(attempt.call, self._result)
